-- pairs.lua - images with masks that say where something is, as files or drawn: datasets of both, f32 [3, side, side]
-- and [1, side, side] of 0..1.
--
--     local all = pairs.open(folder, {side = 256, drawn = 100, seed = 1})
--     local train, test = all:learned_from(), all:tested_with()
local eg = require "egret"

-- ---- files --------------------------------------------------------------------------------------------

--- The names of the files that match, in their order; an error if there are none.
local function names(pattern)
    local function name(path)
        return eg.data.from_tensors {eg.text(path):unsqueeze(0)}
    end
    local all = {}
    for path in eg.data.shards(pattern, name) do
        all[#all + 1] = path:bytes()
    end
    return all
end

--- The names of images and of their masks: Carvana's, or PNG files.
local function find(folder)
    local found, images = pcall(names, folder .. "/train/*.jpg")
    local masks
    if found then
        masks = names(folder .. "/train_masks/*_mask.gif")
    else
        images, masks = names(folder .. "/train/image/*.png"), names(folder .. "/train/label/*.png")
    end
    assert(#images == #masks, ("%s has %d images and %d masks"):format(folder, #images, #masks))
    return images, masks
end

local function read(path, channels, side)
    local image = eg.image_load(path, {channels = channels, other_formats = true})
    return eg.image_resize(image:cast "f32", side, side) / 255
end

-- ---- drawn --------------------------------------------------------------------------------------------

--- A bright blob with a wavy edge on a darker ground, both with stripes and noise.
local function draw(index, side)
    eg.seed(0xb10b + index)
    local chance = eg.uniform({6}, 0, 1):table()
    local places = eg.arange(0, side, 1) / side - 0.3
    local x, y = places - 0.4 * chance[1], (places - 0.4 * chance[2]):reshape {side, 1}
    local waves = (y:atan2(x) * (2 + 4 * chance[4] // 1) + 6 * chance[5]):sin()
    local mask = x:hypot(y):lt((waves * 0.25 + 1) * (0.12 + 0.15 * chance[3])):cast "f32":reshape {1, side, side}
    local stripes = ((x * chance[6] + y * (1 - chance[6])) * 40):sin() * 0.08
    local ground, blob = eg.uniform({3, 1, 1}, 0.15, 0.5), eg.uniform({3, 1, 1}, 0.5, 0.9)
    local image = ground + mask * (blob - ground) + stripes + eg.normal({3, side, side}, 0, 0.05)
    return image:clamp(0, 1), mask
end

-- ---- datasets -----------------------------------------------------------------------------------------

--- Hue by a tenth of the circle; mirrored half the time and moved by a tenth of each side, the mask alike.
local function changed(image, mask)
    local function some(most) return eg.uniform({}, -most, most):item() end
    local side = image:shape()[2]
    local both = eg.concat({eg.image_tf_hue(image, some(0.1)), mask}, 0)
    both = eg.image_random_flip(both, 0.5, 0)
    both = eg.image_translate(both, some(0.1 * side), some(0.1 * side), {nearest = true})
    return both[{{1, 3}}], both[{{4, 4}}]
end

local methods = {}
methods.__index = methods

--- The first or the last of an order that is always the same.
function methods:part(first, last)
    return eg.data.from_tensors {self.order[{{first, last}}]}
end

--- Four fifths of the pairs, in another order in each pass, changed by chance.
function methods:learned_from()
    local how = {workers = 1, seed = self.seed}
    return self:part(1, self.learned):shuffle(self.learned, {seed = self.seed}):map(self.read, how):map(changed, how)
end

--- The others.
function methods:tested_with()
    return self:part(self.learned + 1, -1):map(self.read)
end

local pairs = {}

function pairs.open(folder, options)
    local all = setmetatable({count = options.drawn, seed = options.seed}, methods)
    if folder then
        local images, masks = find(folder)
        all.count = #images
        function all.read(i)
            i = i:item() + 1
            return read(images[i], 3, options.side), read(masks[i], 1, options.side)
        end
    else
        function all.read(i) return draw(i:item(), options.side) end
    end
    assert(all.count > 1, "one pair to learn from and one to test with are the least")
    all.learned = math.max(all.count * 4 // 5, 1)
    eg.seed(42)
    all.order = eg.permutation(all.count)
    eg.seed(options.seed)
    return all
end

return pairs
