-- glyphs.lua - digits that look written by hand, out of ten little bitmaps.
--
--     local images, labels = glyphs.digits(1000)   -- f32 [1000, 1, 28, 28] of 0..1, i64 [1000]
--
-- Each digit is a bitmap of 5 x 7 points under a random rotation, slant and stretch, bent by a smooth random field.
-- Between the points the bitmap is a smooth surface; ink is where it rises above a level, which makes strokes thick
-- or thin. All of a batch is drawn at once, on the thread's random numbers.
local eg = require "egret"

local rows = {
    ".###.  ..#..  .###.  .###.  ...#.  #####  ..##.  #####  .###.  .###.",
    "#...#  .##..  #...#  #...#  ..##.  #....  .#...  ....#  #...#  #...#",
    "#...#  ..#..  ....#  ....#  .#.#.  ####.  #....  ...#.  #...#  #...#",
    "#...#  ..#..  ...#.  ..##.  #..#.  ....#  ####.  ..#..  .###.  .####",
    "#...#  ..#..  ..#..  ....#  #####  ....#  #...#  ..#..  #...#  ....#",
    "#...#  ..#..  .#...  #...#  ...#.  #...#  #...#  .#...  #...#  ...#.",
    ".###.  .###.  #####  .###.  ...#.  .###.  .###.  .#...  .###.  .##..",
}

--- [10, 1, 7, 5] of 0 and 1.
local function bitmaps()
    local points = {}
    for digit = 0, 9 do
        for _, row in ipairs(rows) do
            for at = digit * 7 + 1, digit * 7 + 5 do
                points[#points + 1] = row:sub(at, at) == "#" and 1.0 or 0.0
            end
        end
    end
    return eg.tensor(points, "f32"):reshape {10, 1, 7, 5}
end

--- Where each pixel of n images looks in its bitmap: [n, 28, 28, 2].
local function places(n)
    local function some(low, high)
        return eg.uniform({n}, low, high, "f32")
    end
    local turn, slant = some(-0.2, 0.2), some(-0.25, 0.25)
    local wide, high = some(1.7, 2.5), some(1.3, 1.6) -- bitmaps per picture
    local c, s = turn:cos(), turn:sin()
    local theta = eg.stack({wide * c, wide * (s + slant), some(-0.15, 0.15),
                            high * -s, high * c, some(-0.1, 0.1)}, 1):reshape {n, 2, 3}
    local bend = (eg.randn {n, 2, 4, 4} * 0.12):resize({28, 28}, {mode = "cubic"})
    return eg.affine_grid(theta, 28, 28, false) + bend:permute {0, 2, 3, 1}
end

local function draw(n)
    local labels = eg.randint({n}, 0, 10, "i64")
    local surface = eg.grid_sample(bitmaps():index_select(0, labels), places(n), {mode = "bicubic"})
    local ink = ((surface - eg.uniform({n, 1, 1, 1}, 0.3, 0.5, "f32")) * 10):sigmoid() * 1.1 - 0.05
    return (ink + eg.randn {n, 1, 28, 28} * 0.02):clamp(0, 1), labels
end

local glyphs = {}

function glyphs.digits(count)
    local images, labels = {}, {}
    while count > 0 do -- a thousand at a time, which asks for less memory
        local n = math.min(count, 1000)
        images[#images + 1], labels[#labels + 1] = draw(n)
        count = count - n
    end
    return eg.concat(images, 0), eg.concat(labels, 0)
end

return glyphs
