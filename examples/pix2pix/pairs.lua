-- pairs.lua - plans of house fronts with their photos, as files or drawn: datasets of both, f32 [3, 256, 256] of -1..1.
--
--     local train = pairs.learned_from(folder, {drawn = 400, seed = 1})
--     local test = pairs.tested_with(folder, {drawn = 10, seed = 1})
local eg = require "egret"
local facade = require "facade"

local TEST_FROM = 1000000000 -- number of the first pair drawn to test with

--- What is shuffled: the files of a folder, or numbers of pairs to draw.
local function source(folder, part, first, count)
    if folder then
        return eg.data.files(folder .. "/" .. part .. "/*")
    end
    return eg.data.from(function(i) return eg.tensor(first + i) end, count)
end

--- A function that makes a plan and its photo, [2, 3, H, W] of 0..255, of a sample of the source. In files the photo
--- is the left half.
local function reader(folder, seed)
    if not folder then
        return function(number) return facade(seed, number:item()) end
    end
    return function(_, file)
        local photo, plan = table.unpack(eg.image_decode(file:bytes(), {channels = 3}):chunk(2, 2))
        return eg.stack({plan, photo}, 0):cast "f32"
    end
end

local function resized(images, size)
    return images:resize({size, size}, {mode = "cubic", grid = "corners"}) / 127.5 - 1
end

local pairs = {}

--- Shuffled; plan and photo are made a little larger, cut to size and mirrored alike, where and whether by chance.
function pairs.learned_from(folder, options)
    local read = reader(folder, options.seed)
    local function jittered(...)
        local images = eg.image_random_crop(resized(read(...), 286), 256, 256)
        images = eg.image_random_flip(images, 0.5, 0)
        return images[1], images[2]
    end
    local order = source(folder, "train", 0, options.drawn):shuffle(400, {seed = options.seed})
    return order:map(jittered, {workers = 2, seed = options.seed})
end

function pairs.tested_with(folder, options)
    local read = reader(folder, options.seed)
    local function plain(...)
        local images = resized(read(...), 256)
        return images[1], images[2]
    end
    return source(folder, "val", TEST_FROM, options.drawn):map(plain)
end

return pairs
