-- images.lua - small images of ten kinds, as files or drawn: datasets of images, f32 [3, 32, 32] of -1..1, and labels.
--
--     local train = images.learned_from(folder, {drawn = 5000, seed = 1})
--     local test = images.tested_with(folder, {drawn = 1000})
--     print(images.kinds(folder)[1])     -- of label 0
local eg = require "egret"

local side = 32
local things = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}
local shapes = {"disc", "ring", "square", "frame", "triangle", "cross", "pair", "tower", "post", "beam"}

-- ---- files --------------------------------------------------------------------------------------------
-- CIFAR-10's binary files lie in the folder or in one of those that its archive unpacks to.

local function batches(folder)
    for _, inside in ipairs {"/unpacked/cifar-10-batches-bin/", "/cifar-10-batches-bin/"} do
        local found, all = pcall(eg.data.cifar10, folder .. inside .. "data_batch*.bin")
        if found then
            return all, folder .. inside
        end
    end
    return eg.data.cifar10(folder .. "/data_batch*.bin"), folder .. "/"
end

--- The member "test/cat/0001.jpg" of an archive as its image and label.
local function member(name, file)
    local kind = name:bytes():match "/(%l+)/"
    for i, thing in ipairs(things) do
        if kind == thing then
            return eg.image_decode(file:bytes(), {channels = 3}), eg.tensor(i - 1)
        end
    end
    error(name:bytes() .. " is not SPLIT/KIND/NUMBER.jpg", 0)
end

local function files(folder, part)
    local all, inside = batches(folder)
    local found, test = pcall(eg.data.cifar10, inside .. "test_batch*.bin")
    if not found then
        found, test = pcall(function() return eg.data.tar(inside .. "jpeg-test.tar"):map(member) end)
    end
    if found then
        return part == "train" and all or test
    end
    local kept = all:count() - all:count() // 10 -- the others are there to test with
    return part == "train" and all:take(kept) or all:skip(kept)
end

-- ---- drawn --------------------------------------------------------------------------------------------
-- A shape in a colour on another, somewhere, with noise; none is another's mirror image. All of a kind are drawn at
-- once.

local function both(a, b) return a:minimum(b) end
local function either(a, b) return a:maximum(b) end

--- How far points are inside of each shape of size 1 around 0; negative outside.
local function square(x, y) return 0.8 - either(x:abs(), y:abs()) end
local function dot(x, y) return 0.35 - x:hypot(y) end
local inside = {
    function(x, y) return 0.9 - x:hypot(y) end,
    function(x, y) return 0.28 - (x:hypot(y) - 0.7):abs() end,
    square,
    function(x, y) return both(square(x, y), either(x:abs(), y:abs()) - 0.4) end,
    function(x, y) return both(0.7 - y, y + 0.8 - x:abs() * 1.7) end,
    function(x, y) return both(square(x, y), 0.25 - both(x:abs(), y:abs())) end,
    function(x, y) return either(dot(x - 0.55, y), dot(x + 0.55, y)) end,
    function(x, y) return either(dot(x, y - 0.55), dot(x, y + 0.55)) end,
    function(x, y) return both(0.25 - x:abs(), 0.9 - y:abs()) end,
    function(x, y) return both(0.9 - x:abs(), 0.25 - y:abs()) end,
}

--- n images of a kind, [n, 3, 32, 32] of 0..255.
local function draw(kind, n)
    local function some(low, high, channels)
        return eg.uniform({n, channels or 1, 1, 1}, low, high)
    end
    local size, left, top = some(6, 13), some(-2.5, 2.5), some(-2.5, 2.5)
    local places = eg.arange(0, side, 1) - side / 2
    local x, y = (places - left) / size, (places:reshape {side, 1} - top) / size
    local share = (inside[kind](x, y) * size + 0.5):clamp(0, 1)
    local paper, ink = some(0, 110, 3), some(130, 255, 3)
    return (paper + share * (ink - paper) + eg.normal({n, 3, side, side}, 0, 12)):clamp(0, 255)
end

local function drawn(count)
    local n, of = count // #shapes, {}
    for kind = 1, #shapes do
        of[kind] = draw(kind, n)
    end
    local labels = eg.arange(0, n * #shapes, 1, "i64") % #shapes
    return eg.data.from_tensors {eg.stack(of, 1):reshape {-1, 3, side, side}, labels}
end

-- ---- on the way to the net ----------------------------------------------------------------------------

local function scaled(image, label)
    return image:cast "f32" / 128 - 1, label
end

--- Four zeros are put around an image; a part of that, as large as it was, is mirrored by chance.
local function distorted(image, label)
    image = eg.image_random_crop(eg.image_pad(image:cast "f32", 4, 4, 4, 4, "constant", 0), side, side)
    return scaled(eg.image_random_flip(image, 0.5, 0), label)
end

local images = {}

function images.kinds(folder)
    return folder and things or shapes
end

--- In another order in each pass; distorted by chance, unless they are to be learned from as they are.
function images.learned_from(folder, options)
    local all = folder and files(folder, "train") or drawn(options.drawn)
    return all:shuffle(50000, {seed = options.seed})
        :map(options.plain and scaled or distorted, {workers = 2, seed = options.seed})
end

function images.tested_with(folder, options)
    return (folder and files(folder, "test") or drawn(options.drawn)):map(scaled)
end

-- ---- what they are taken for --------------------------------------------------------------------------

--- An image of -1..1 as one of 0..1 with a frame, which cannot be seen unless it is red.
local function framed(image, red)
    local frame = eg.zeros {4, side + 4, side + 4}
    if red then
        frame[{{1, 4}}] = eg.tensor {0.85, 0.15, 0.15, 1}:reshape {4, 1, 1}
    end
    frame[{{1, 3}, {3, -3}, {3, -3}}] = image / 2 + 0.5
    frame[{4, {3, -3}, {3, -3}}] = 1
    return frame
end

--- Four rows of images, of which those in column k were taken for the k-th kind. Up to two of them are another, below
--- and framed in red.
function images.sheet(net, test, device)
    local right, wrong, cells, empty = {}, {}, {}, eg.zeros {4, side + 4, side + 4}
    for kind = 1, 10 do
        right[kind], wrong[kind] = {}, {}
    end
    for some, labels in test do
        local guesses = net(some:to(device)):argmax {axes = 1}:to "cpu"
        for i = 1, #labels do
            local guess = guesses[i]:item()
            local is_right = guess == labels[i]:item()
            local column = (is_right and right or wrong)[guess + 1]
            if #column < (is_right and 4 or 2) then
                column[#column + 1] = framed(some[i], not is_right)
            end
        end
    end
    for row = 1, 4 do
        for kind = 1, 10 do
            local above = 4 - #wrong[kind]
            cells[#cells + 1] = row > above and wrong[kind][row - above] or right[kind][row] or empty
        end
    end
    return eg.stack(cells, 0)
end

return images
