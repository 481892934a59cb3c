-- drawn.lua - drawings as a hand would make them, and drawings as the net gets them.
--
--     local strokes = drawn.strokes(3)                 -- {{{x, y}, ...}, ...}: a star, another one each time
--     local ink = drawn.ink(strokes)                   -- f32 [points - 1, 3]
--     eg.show(drawn.image(ink, 96))                    -- [1, 96, 96]
local eg = require "egret"

local drawn = {names = {"circle", "square", "triangle", "star", "spiral", "wave", "lollipop", "face", "crossroad",
                        "stairs"}}

-- ---- things -------------------------------------------------------------------------------------------
-- Curves of a t from 0 to 1.

local function ring(x, y, r)
    return function(t) return x + r * math.cos(2 * math.pi * t), y + r * math.sin(2 * math.pi * t) end
end

local function polygon(corners)
    return function(t)
        local at = math.min(t * #corners, #corners - 1e-9)
        local i = at // 1 | 0
        local a, b, share = corners[i + 1], corners[(i + 1) % #corners + 1], at - i
        return a[1] + share * (b[1] - a[1]), a[2] + share * (b[2] - a[2])
    end
end

local curves = {
    {ring(0, 0, 1)},
    {polygon {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}}},
    {polygon {{0, -1}, {1, 1}, {-1, 1}}},
    {polygon {{0, -1}, {0.6, 0.8}, {-0.95, -0.3}, {0.95, -0.3}, {-0.6, 0.8}}},
    {function(t) return ring(0, 0, t)(3 * t) end},
    {function(t) return 2 * t - 1, 0.5 * math.sin(6 * math.pi * t) end},
    {ring(0, -0.5, 0.5), function(t) return 0, t end},
    {ring(0, 0, 1), ring(-0.4, -0.3, 0.12), ring(0.4, -0.3, 0.12), function(t) return ring(0, 0.3, 0.4)(t / 2) end},
    {function(t) return 2 * t - 1, 0 end, function(t) return 0, 2 * t - 1 end},
    {polygon {{-1, 1}, {-1, 0.5}, {-0.5, 0.5}, {-0.5, 0}, {0, 0}, {0, -0.5}, {0.5, -0.5}, {0.5, -1}, {1, -1}}},
}
curves[10][1] = (function(stairs) return function(t) return stairs(t * 8 / 9) end end)(curves[10][1]) -- not back again

--- A drawing of the kind with this number, from 1 on.
function drawn.strokes(kind)
    local chance = eg.uniform({3}, -1, 1, "f64"):table()
    local turn, shear, strokes = 0.25 * chance[1], 0.2 * chance[2], {}
    for _, curve in ipairs(curves[kind]) do
        local count = 8 + math.random(0, 6)
        local stroke, shake = {}, eg.uniform({count, 2}, -0.04, 0.04, "f64"):table()
        for i = 1, count do
            local x, y = curve((i - 1) / (count - 1) * (1 + 0.05 * chance[3]))
            x, y = x + shake[i][1], y + shake[i][2] + shear * x
            stroke[i] = {x * math.cos(turn) - y * math.sin(turn), x * math.sin(turn) + y * math.cos(turn)}
        end
        strokes[#strokes + 1] = stroke
    end
    return strokes
end

-- ---- ink ----------------------------------------------------------------------------------------------

--- Each axis by its range to 0..1, and what changes from point to point; 1 at the last point of a stroke.
function drawn.ink(strokes)
    local rows = {}
    for _, stroke in ipairs(strokes) do
        for i, point in ipairs(stroke) do
            rows[#rows + 1] = {point[1] + 0.0, point[2] + 0.0, i == #stroke and 1.0 or 0.0}
        end
    end
    assert(#rows > 1, "a drawing of fewer than two points")
    local all = eg.tensor(rows, "f32")
    local at, last = all[{{}, {1, 2}}], all[{{2, -1}, {3, 3}}]
    local low = at:min {axes = 0}
    local range = at:max {axes = 0} - low
    at = (at - low) / eg.where(range:eq(0), eg.ones {2}, range)
    return eg.concat({at[{{2, -1}}] - at[{{1, -2}}], last}, 1)
end

--- Dark lines on 0..1 paper.
function drawn.image(ink, side)
    local at = eg.cumsum(ink[{{}, {1, 2}}], 0)
    at = eg.concat({eg.zeros {1, 2}, at}, 0)
    at = at - at:min {axes = 0}
    local points, ends = at:table(), ink:table()
    local scale, margin = side * 7 / 8, side / 16
    local y, x = eg.arange(0.5, side, 1):reshape {side, 1}, eg.arange(0.5, side, 1)
    local image, lifted = eg.zeros {side, side}, false
    for i = 1, #ends do
        local a, b = points[i], points[i + 1]
        local ax, ay = margin + scale * a[1], margin + scale * a[2]
        local dx, dy = scale * (b[1] - a[1]), scale * (b[2] - a[2])
        if not lifted then
            local t = (((x - ax) * dx + (y - ay) * dy) / math.max(dx * dx + dy * dy, 1e-9)):clamp(0, 1)
            image = image:maximum((1.4 - (x - ax - t * dx):hypot(y - ay - t * dy)):clamp(0, 1))
        end
        lifted = ends[i][3] > 0.5
    end
    return (1 - image):reshape {1, side, side}
end

--- Samples of ink, its length, and the kind from 0 on.
function drawn.set(count, seed)
    return eg.data.from(function(i)
        math.randomseed(seed, i)
        local kind = i % #drawn.names
        local ink = drawn.ink(drawn.strokes(kind + 1))
        return ink, eg.tensor(#ink), eg.tensor(kind)
    end, count)
end

return drawn
