-- cars.lua - pairs of views of cars of chance proportions and colours, made of boxes and balls: of every pixel a ray is
-- followed to what it meets first.
--
--     local pictures, into, back = cars.pairs(first, count, each, side)     views of cars number first, first + 1, ...
--     local picture, into, back = cars.view(cars.car(7), around, up, side)
--
-- Pictures are f32 [.., 4, side, side], 0..1, whose last channel is how much of a pixel is the car's; into and back
-- matrices [.., 4, 4] into the camera's coordinates, in which it looks along -z, and back.
local eg = require "egret"

local cars = {distance = 30, focal = 26} -- (x, y, z) is seen at (-focal x / z, -focal y / z)
local LIGHT, FINER = {0.46, 0.78, 0.42}, 2

-- ---- cars ---------------------------------------------------------------------------------------------

local function between(low, high)
    return low + (high - low) * math.random()
end

--- Car number i, a list of parts: x is forward, y up. All is within 1 of 0.
function cars.car(i)
    math.randomseed(4711, i)
    local paint = {between(0.15, 0.95), between(0.15, 0.95), between(0.15, 0.95)}
    local length, width, wheel = between(0.78, 0.92), between(0.32, 0.4), between(0.13, 0.17)
    local body, cabin, long = between(0.1, 0.14), between(0.11, 0.17), between(0.38, 0.52)
    local back, low = between(-0.3, -0.12), -0.35
    local waist = low + wheel + 2 * body
    local parts = {
        {middle = {0, low + wheel + body, 0}, half = {length, body, width}, colour = paint},
        {middle = {back, waist + cabin, 0}, half = {long, cabin, 0.86 * width}, colour = {0.25, 0.35, 0.45}},
        {middle = {back, waist + 2 * cabin, 0}, half = {0.9 * long, 0.03, 0.8 * width}, colour = paint},
    }
    for k = 0, 3 do
        local ahead, side = k % 2 == 0 and 1 or -1, k < 2 and 1 or -1
        table.insert(parts, {middle = {0.6 * length * ahead, low + wheel, 0.95 * width * side}, ball = true,
                             half = {wheel, wheel, 0.08}, colour = {0.13, 0.14, 0.17}})
        table.insert(parts, {middle = {length * ahead, waist - 0.8 * body, 0.65 * width * side},
                             half = {0.02, 0.05, 0.07}, colour = ahead > 0 and {0.98, 0.9, 0.55} or {0.8, 0.1, 0.08}})
    end
    return parts
end

-- ---- rays ---------------------------------------------------------------------------------------------

local function dot(a, b)
    return a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
end

--- Where rays that begin at `from` meet a box, how bright it is there, and whether they do.
local function meet_box(part, from, ray)
    local near, far, bright
    for i = 1, 3 do
        local one = (part.middle[i] - part.half[i] - from[i]) / ray[i]
        local two = (part.middle[i] + part.half[i] - from[i]) / ray[i]
        local first, last, along = one:minimum(two), one:maximum(two), ray[i]:sign() * -LIGHT[i]
        bright = bright and eg.where(first:gt(near), along, bright) or along
        near, far = near and near:maximum(first) or first, far and far:minimum(last) or last
    end
    return near, bright, near:lt(far)
end

local function meet_ball(part, from, ray)
    local p, q, normal = {}, {}, {}
    for i = 1, 3 do
        p[i], q[i] = (from[i] - part.middle[i]) / part.half[i], ray[i] / part.half[i]
    end
    local a, b = dot(q, q), dot(q, p)
    local inside = b * b - a * (dot(p, p) - 1)
    local near = (-b - inside:clamp_min(0):sqrt()) / a
    for i = 1, 3 do
        normal[i] = (near * q[i] + p[i]) / part.half[i]
    end
    return near, dot(normal, LIGHT) / (dot(normal, normal) + 1e-12):sqrt(), inside:gt(0)
end

--- A picture of the parts, and the matrices of its view: turned around y, and lifted.
function cars.view(parts, around, up, side)
    local ca, sa, cu, su, d = math.cos(around), math.sin(around), math.cos(up), math.sin(up), cars.distance
    local turn = {{ca, 0, sa}, {su * sa, cu, -su * ca}, {-cu * sa, su, cu * ca}}
    local n = side * FINER
    local line = (eg.arange(0, n, 1, "f64") + 0.5) * (2 / n) - 1
    local u, v = line:unsqueeze(0):expand {n, n} / cars.focal, line:unsqueeze(1):expand {n, n} / -cars.focal
    local from, ray = {}, {}
    for i = 1, 3 do
        from[i] = turn[3][i] * d
        ray[i] = u * turn[1][i] + v * turn[2][i] - turn[3][i]
    end
    local nearest, picture = eg.full({n, n}, 2 * d, "f64"), eg.ones({4, n, n}, "f64")
    for _, part in ipairs(parts) do
        local near, bright, met = (part.ball and meet_ball or meet_box)(part, from, ray)
        met = met:logical_and(near:lt(nearest))
        bright = eg.where(bright:gt(0), bright * 0.38, bright * 0.2) + 0.62
        local c = part.colour
        local painted = eg.stack({bright * c[1], bright * c[2], bright * c[3], eg.full({n, n}, 2, "f64")}, 0)
        nearest, picture = eg.where(met, near, nearest), eg.where(met, painted, picture)
    end
    picture = (picture - eg.tensor({0, 0, 0, 1}, "f64"):reshape {4, 1, 1}):unsqueeze(0):avg_pool2d {kernel = FINER}
    local into, back = {}, {}
    for i = 1, 3 do
        into[i] = {turn[i][1], turn[i][2], turn[i][3], i == 3 and -d or 0}
        back[i] = {turn[1][i], turn[2][i], turn[3][i], from[i]}
    end
    into[4], back[4] = {0, 0, 0, 1}, {0, 0, 0, 1}
    return picture:squeeze(0):cast "f32":clamp(0, 1), eg.tensor(into, "f32"), eg.tensor(back, "f32")
end

-- ---- pairs --------------------------------------------------------------------------------------------

--- Pairs of views, not more than a quarter of a turn apart, `each` of every car: [pairs, 2, ...]. With `within` all of
--- them are no more than that angle from where the car looks to the right.
function cars.pairs(first, count, each, side, within)
    local all = {{}, {}, {}}
    for i = first, first + count - 1 do
        local parts = cars.car(i)
        for _ = 1, each do
            local around, pair = between(0, 2 * math.pi), {{}, {}, {}}
            local angles = within and {between(-within, within), between(-within, within)} or
                {around, around + between(-0.5, 0.5) * math.pi}
            for k, angle in ipairs(angles) do
                pair[1][k], pair[2][k], pair[3][k] = cars.view(parts, angle, between(0.1, 0.6), side)
            end
            for k = 1, 3 do
                table.insert(all[k], eg.stack(pair[k], 0))
            end
        end
    end
    return eg.stack(all[1], 0), eg.stack(all[2], 0), eg.stack(all[3], 0)
end

return cars
