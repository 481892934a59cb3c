-- signs.lua - signs with a word on them, out of little bitmaps of letters, seen from several sides.
--
--     local images, texts = signs.draw(16, 2, 6, 32)   -- f32 [16, 3, 32, 64] of -1.25..1.25, i64 [16, 6]
--     signs.letters                                    -- their characters; the last number is the null behind a word
--
-- Each letter is a bitmap of 5 x 7 points; a word is a row of them on a plate, which every view turns, moves and lights in
-- its own way and hides a part of. All of a batch is drawn at once, on the thread's random numbers.
local eg = require "egret"

local rows = { -- A to Z, 0 to 9
    ".###. ####. .###. ####. ##### ##### .###. #...# .###. ..### #...# #.... #...# #...# .###. ####. .###. ####. .#### ##### #...# #...# #...# #...# #...# ##### .###. ..#.. .###. .###. ...#. ##### ..##. ##### .###. .###.",
    "#...# #...# #...# #...# #.... #.... #...# #...# ..#.. ...#. #..#. #.... ##.## ##..# #...# #...# #...# #...# #.... ..#.. #...# #...# #...# #...# #...# ....# #...# .##.. #...# #...# ..##. #.... .#... ....# #...# #...#",
    "#...# #...# #.... #...# #.... #.... #.... #...# ..#.. ...#. #.#.. #.... #.#.# #.#.# #...# #...# #...# #...# #.... ..#.. #...# #...# #...# .#.#. .#.#. ...#. #..## ..#.. ....# ....# .#.#. ####. #.... ...#. #...# #...#",
    "##### ####. #.... #...# ####. ####. #.### ##### ..#.. ...#. ##... #.... #.#.# #..## #...# ####. #...# ####. .###. ..#.. #...# #...# #.#.# ..#.. ..#.. ..#.. #.#.# ..#.. ...#. ..##. #..#. ....# ####. ..#.. .###. .####",
    "#...# #...# #.... #...# #.... #.... #...# #...# ..#.. ...#. #.#.. #.... #...# #...# #...# #.... #.#.# #.#.. ....# ..#.. #...# #...# #.#.# .#.#. ..#.. .#... ##..# ..#.. ..#.. ....# ##### ....# #...# ..#.. #...# ....#",
    "#...# #...# #...# #...# #.... #.... #...# #...# ..#.. #..#. #..#. #.... #...# #...# #...# #.... #..#. #..#. ....# ..#.. #...# .#.#. ##.## #...# ..#.. #.... #...# ..#.. .#... #...# ...#. #...# #...# .#... #...# ...#.",
    "#...# ####. .###. ####. ##### #.... .###. #...# .###. .##.. #...# ##### #...# #...# .###. #.... .##.# #...# ####. ..#.. .###. ..#.. #...# #...# ..#.. ##### .###. .###. ##### .###. ...#. .###. .###. .#... .###. .##..",
}
local signs = {letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"}
signs.null = #signs.letters

--- [37, 7, 6]: the letters with a column between them, and nothing.
local function bitmaps()
    local points = {}
    for letter = 0, signs.null do
        for _, row in ipairs(rows) do
            for at = letter * 6 + 1, letter * 6 + 6 do
                points[#points + 1] = row:sub(at, at) == "#" and 1.0 or 0.0
            end
        end
    end
    return eg.tensor(points, "f32"):reshape {signs.null + 1, 7, 6}
end

--- Words of any letters, at least half as long as there is room, nulls behind.
local function words(n, length)
    local ids = eg.randint({n, length}, 0, signs.null, "i64")
    local long = eg.randint({n, 1}, (length + 1) // 2, length + 1, "i64")
    return eg.where(eg.arange(0, length, 1, "i64"):unsqueeze(0):lt(long), ids, eg.full({n, length}, signs.null, "i64"))
end

--- Where each pixel of a view looks on the plate, [n, side, side, 2], within -1..1 on its face.
local function places(n, side)
    local function some(low, high)
        return eg.uniform({n}, low, high, "f32")
    end
    local turn, shear, wide, high = some(-0.08, 0.08), some(-0.1, 0.1), some(1.03, 1.2), some(1.4, 2.2)
    local theta = eg.stack({wide, wide * (turn + shear), some(-0.06, 0.06),
                            -high * turn * 2, high, some(-0.4, 0.4)}, 1):reshape {n, 2, 3}
    return eg.affine_grid(theta, side, side, false)
end

local function colours(n, low, high)
    return eg.uniform({n, 3, 1, 1}, low, high, "f32")
end

--- One view of plates [n, 1, h, w], on which ink is 1.
local function view(plate, dark, side)
    local n, grid = #plate, places(#plate, side)
    local function seen(of)
        return eg.grid_sample(of, grid, {mode = "bilinear"})
    end
    local ink, face = seen(plate), seen(eg.ones_like(plate))
    local front, ground = colours(n, 0.75, 1), colours(n, 0, 0.3)
    local image = eg.where(dark, ground + ink * (front - ground), front + ink * (ground - front))
    image = colours(n, 0.3, 0.6) * (1 - face) + face * image
    local line = eg.arange(0, side, 1):reshape {1, 1, 1, side}
    local post = (line - eg.uniform({n, 1, 1, 1}, -side, side, "f32")):abs():lt(side / 40 + 0.5):cast "f32" -- every second
    image = image * (1 - post) + post * colours(n, 0.1, 0.6)
    return image * eg.uniform({n, 1, 1, 1}, 0.7, 1, "f32") + eg.randn {n, 3, side, side} * 0.03
end

function signs.draw(n, views, length, side)
    local texts, made = words(n, length), {}
    local plate = bitmaps():index_select(0, texts:flatten(0, 1)):reshape {n, length, 7, 6}
    plate = plate:permute {0, 2, 1, 3}:reshape {n, 1, 7, 6 * length}
    plate = plate:pad {before = {0, 0, 2, 2}, after = {0, 0, 2, 1}}
    local dark = eg.uniform({n, 1, 1, 1}, 0, 1, "f32"):lt(0.5)
    for v = 1, views do
        made[v] = view(plate, dark, side)
    end
    return ((eg.concat(made, 3):clamp(0, 1) - 0.5) * 2.5), texts
end

--- A row of numbers as a word.
function signs.word(ids)
    local said = ""
    for _, id in ipairs(ids:table()) do
        if id == signs.null then
            break
        end
        said = said .. signs.letters:sub(id + 1, id + 1)
    end
    return said
end

return signs
