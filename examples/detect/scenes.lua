-- scenes.lua - photos with the objects on them, as Pascal VOC's files or drawn: datasets of an image f32 [3, h, w] as a
-- detector sees it, boxes [k, 4], classes i64 [k] from 0, the height and width of the photo, i64 [2], what is known of
-- each object besides, u8 [k], and masks u8 [k, h, w].
--
--     local all = scenes.open(folder, {drawn = 800, shorter = 160, longer = 240, seed = 1})
--     local train, test, names = all:learned_from(), all:tested_with(), all.names
local eg = require "egret"

local mean, deviation = {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}
local SIDE, MOST = 160, 5

local function per_channel(numbers)
    return eg.tensor(numbers, "f32"):reshape {3, 1, 1}
end

-- ---- drawn --------------------------------------------------------------------------------------------

--- Where a shape is, bool [side, side]: of a circle, a square, a triangle with equal sides.
local function covered(kind, x, y, radius, turn)
    local u = (eg.arange(0, SIDE, 1) + 0.5 - x) / radius
    local v = ((eg.arange(0, SIDE, 1) + 0.5 - y) / radius):reshape {SIDE, 1}
    local p, q = u * math.cos(turn) + v * math.sin(turn), v * math.cos(turn) - u * math.sin(turn)
    if kind == 0 then
        return (p * p + q * q):lt(1)
    elseif kind == 1 then
        return p:abs():lt(0.8):logical_and(q:abs():lt(0.8))
    end
    return q:lt(0.5):logical_and((p:abs() * 3 ^ 0.5 - q):lt(1))
end

--- The smallest box around what is true in a mask.
local function around(mask)
    local places = mask:nonzero()
    local low, high = places:min {axes = {0}}:table(), places:max {axes = {0}}:table()
    return {low[2], low[1], high[2] + 1, high[1] + 1}
end

--- Whether a shape would hide so much of another one that little is to be seen.
local function crowds(places, x, y, radius)
    for _, p in ipairs(places) do
        if ((p[1] - x) ^ 2 + (p[2] - y) ^ 2) ^ 0.5 < 0.75 * (p[3] + radius) then
            return true
        end
    end
end

--- A colour each channel of which is far from the ground's, above or below.
local function standing_out(ground, chance)
    local colour = {}
    for c = 1, 3 do
        colour[c] = ground[c] + (chance[c] < 0.5 and -0.2 - 0.3 * chance[c] or 0.1 + 0.3 * chance[c])
    end
    return per_channel(colour)
end

--- A ground with up to five shapes on it, each on top of those before.
local function drawn(index)
    eg.seed(0x5a9e + index)
    local chance = eg.uniform({1 + 8 * MOST}, 0, 1):table()
    local ground, masks, kinds, places = eg.uniform({3}, 0.2, 0.7):table(), {}, {}, {}
    local image = per_channel(ground):expand {3, SIDE, SIDE}
    for i = 1, 1 + chance[1] * MOST // 1 do
        local c = table.move(chance, 8 * i - 6, 8 * i + 1, 1, {})
        local radius = 16 + 24 * c[4]
        local x, y = radius + c[2] * (SIDE - 2 * radius), radius + c[3] * (SIDE - 2 * radius)
        if not crowds(places, x, y, radius) then
            places[#places + 1] = {x, y, radius}
            local mask = covered(c[1] * 3 // 1, x, y, radius, 2 * math.pi * c[5])
            image = eg.where(mask, standing_out(ground, {c[6], c[7], c[8]}), image)
            for k = 1, #masks do
                masks[k] = masks[k]:logical_and(mask:logical_not())
            end
            masks[#masks + 1], kinds[#kinds + 1] = mask, c[1] * 3 // 1
        end
    end
    local seen, boxes, labels = {}, {}, kinds
    for k, mask in ipairs(masks) do
        seen[k], boxes[k] = mask:cast "u8", around(mask)
    end
    image = (image + eg.normal({3, SIDE, SIDE}, 0, 0.04)):clamp(0, 1)
    return (image * 255):cast "u8", eg.tensor(boxes, "f32"), eg.tensor(labels, "i64"),
        eg.zeros({#labels}, "u8"), eg.stack(seen, 0)
end

--- The same, and chance goes on behind it as if nothing had been drawn: what follows is of the epoch.
local function draw(index)
    local before = eg.random_get_state()
    local scene = table.pack(drawn(index))
    eg.random_set_state(before)
    return table.unpack(scene)
end

-- ---- as nets see them ---------------------------------------------------------------------------------

--- What was done to a photo is done to what is known of its objects.
local function taken(photo, labels, flags)
    return photo.image, photo.boxes, labels:index_select(0, photo.kept), flags:index_select(0, photo.kept), photo.masks
end

local function ready(image, boxes, labels, flags, masks, options)
    local photo = eg.photo_fit(image, boxes, masks,
                               {shorter = options.shorter, longer = options.longer, antialias = true})
    image, boxes, labels, flags, masks = taken(photo, labels, flags)
    local shape = image:shape()
    masks = masks or eg.zeros({#labels, 1, 1}, "u8")
    return (image:cast "f32" / 255 - per_channel(mean)) / per_channel(deviation), boxes, labels,
        eg.tensor({shape[2], shape[3]}, "i64"), flags, masks
end

local scenes = {}

--- A photo as it was, u8, of what a net sees.
function scenes.shown(seen)
    return eg.image_to_u8(seen:to "cpu" * per_channel(deviation) + per_channel(mean))
end

-- ---- datasets -----------------------------------------------------------------------------------------

local methods = {}
methods.__index = methods

--- In another order in each pass, mirrored by chance; nobody is asked for what is difficult.
function methods:learned_from()
    local options = self.options
    local function changed(...)
        local image, boxes, labels, flags, masks = self.read(...)
        image, boxes, labels, flags, masks = taken(eg.photo_random_flip(image, boxes, masks, 0.5), labels, flags)
        labels = eg.where(flags:eq(0), labels, eg.full({#labels}, -1, "i64"))
        return ready(image, boxes, labels, flags, masks, options)
    end
    local d = self:part(true)
    return d:shuffle(math.max(d:count(), 1), {seed = options.seed}):map(changed, {workers = 1, seed = options.seed})
end

--- The others.
function methods:tested_with()
    local options = self.options
    return self:part(false):map(function(...)
        local image, boxes, labels, flags, masks = self.read(...)
        return ready(image, boxes, labels, flags, masks, options)
    end)
end

function scenes.open(folder, options)
    local all = setmetatable({options = options, names = {"circle", "square", "triangle"}}, methods)
    if folder then
        function all.read(bytes, boxes, labels, flags)
            return eg.image_decode(bytes:bytes(), {channels = 3}), boxes, labels, flags
        end
        all.names = eg.data.voc(folder, "train"):classes()
        function all.part(_, train)
            return eg.data.voc(folder, train and "train" or "val", {classes = all.names})
        end
        return all
    end
    function all.part(_, train)
        local numbers = eg.arange(0, options.drawn, 1, "i64")
        local others = numbers:remainder(4):eq(0) -- every fourth picture is not learned from
        return eg.data.from_tensors {numbers:masked_select(train and others:logical_not() or others)}
    end
    function all.read(i) return draw(i:item()) end
    return all
end

return scenes
