-- flights.lua - flights of a camera through halls that are drawn, of which all is known; or videos as KITTI's odometry
-- has them.
--
--     local videos = flights.open(folder, {drawn = 8, height = 64, width = 128})
--     videos[1].frames     f32 [T, 3, height, width] of 0..1
--     videos[1].lens       f32 [4], fx, fy, cx, cy in pixels
--     videos[1].depths     f32 [T, height, width]; of files nil
--     videos[1].poses      f64 [T, 3, 4], camera to world; nil where there are none
local eg = require "egret"

local LENGTH, TABLE = 20, 256
local flights = {}

-- ---- skins --------------------------------------------------------------------------------------------

--- Noise with fine and coarse grains, [1, 3, TABLE, TABLE] of 0..1: two colours and what is between them.
local function skin()
    local sum, gain = eg.zeros {1, 1, TABLE, TABLE}, 0.5
    for k = 3, 7 do
        sum = sum + eg.randn({1, 1, 2 ^ k // 1, 2 ^ k // 1}):image_resize(TABLE, TABLE) * gain
        gain = gain * 0.8
    end
    local dark, bright = eg.uniform({1, 3, 1, 1}, 0.05, 0.35), eg.uniform({1, 3, 1, 1}, 0.55, 1)
    return dark + (bright - dark) * (sum * 0.5 + 0.5):clamp(0, 1)
end

-- ---- the hall -----------------------------------------------------------------------------------------

--- Boxes {low, high} of a hall, itself the first, which is seen from inside: pillars at its walls, crates on its floor.
local function hall()
    local c = eg.uniform({4}, 0, 1):table()
    local left, right, top, floor = -1.7 - 0.8 * c[1], 1.7 + 0.8 * c[2], -1.5 - 0.8 * c[3], 0.9 + 0.3 * c[4]
    local boxes = {{{left, top, -10}, {right, floor, 60}}}
    for k = -1, 14 do
        local r = eg.uniform({8}, 0, 1):table()
        local z = (k + 0.4 * r[1]) * 2.5
        if r[2] < 0.7 then
            boxes[#boxes + 1] = {{left, top, z}, {left + 0.25 + 0.6 * r[3], floor, z + 0.3 + 0.8 * r[4]}}
        end
        if r[5] < 0.7 then
            boxes[#boxes + 1] = {{right - 0.25 - 0.6 * r[6], top, z + 0.5}, {right, floor, z + 0.8 + 0.8 * r[7]}}
        else
            local x = 1.5 * r[6] - 1
            boxes[#boxes + 1] = {{x, floor - 0.15 - 0.4 * r[7], z}, {x + 0.3 + 0.4 * r[8], floor, z + 0.6}}
        end
    end
    return boxes
end

--- Rotation and place of the camera at frame t, f32 [3, 3] and [3, 1].
local function pose(c, t)
    local z = t * (0.2 + 0.15 * c[1])
    local a, b = 0.3 * c[2], 0.3 + 0.4 * c[3]
    local yaw = math.atan(0.8 * a * b * math.cos(b * z + 6 * c[4])) + 0.04 * math.sin(0.23 * t + 6 * c[5])
    local pitch = 0.02 * math.sin(0.31 * t + 6 * c[4])
    local s, k, u, v = math.sin(yaw), math.cos(yaw), math.sin(pitch), math.cos(pitch)
    local place = {a * math.sin(b * z + 6 * c[4]) + 0.3 * (c[6] - 0.5), 0.12 * math.sin(0.9 * z + 6 * c[5]) - 0.1, z}
    return eg.tensor {{k, s * u, s * v}, {0, v, -u}, {-s, k * u, k * v}}, eg.tensor(place):reshape {3, 1}
end

-- ---- rays ---------------------------------------------------------------------------------------------

--- How far along rays [3, n] from a place boxes begin, and by which side, [boxes, n]; of the hall where it ends.
local function meet(boxes, place, rays)
    local low, high = {}, {}
    for i, box in ipairs(boxes) do
        low[i], high[i] = box[1], box[2]
    end
    low, high = eg.tensor(low):unsqueeze(2), eg.tensor(high):unsqueeze(2)
    local inverse = 1 / eg.where(rays:abs():lt(1e-6), eg.full_like(rays, 1e-6), rays)
    local a, b = (low - place) * inverse, (high - place) * inverse
    local near, far = a:minimum(b), a:maximum(b)
    local first, last = near:max {axes = {1}}, far:min {axes = {1}}
    local met = first:lt(last):logical_and(first:gt(0)):cast "f32"
    first = first * met + (1 - met) * 1e6
    local inside = last:slice(0, 0, 1, 1)
    return eg.concat({inside, first:slice(0, 1, #boxes, 1)}, 0),
        eg.concat({far:slice(0, 0, 1, 1):argmin {axes = {1}}, near:slice(0, 1, #boxes, 1):argmax {axes = {1}}}, 0)
end

--- Colours [3, n] where rays end: places on a side are places in the skin of box and side.
local function paint(at, box, side, skins)
    local x, y, z = at[1], at[2], at[3]
    local u = eg.where(side:eq(0), z, x)
    local v = eg.where(side:eq(1), z, y)
    local shift = box * 1.7 + side * 0.9
    local grid = eg.stack({u * 0.19 + shift, v * 0.19 + shift * 1.3}, 1):reshape {1, 1, #u, 2}
    local which = (box * 3 + side):remainder(#skins)
    local rgb = eg.zeros {3, #u}
    for i, s in ipairs(skins) do
        rgb = rgb + eg.grid_sample(s, grid, {border = "reflect"}):reshape {3, #u} * which:eq(i - 1):cast "f32"
    end
    return rgb
end

--- One frame, f32 [3, h, w], and its depths [h, w]; of a pixel four rays are cast.
local function draw(boxes, skins, turn, place, lens, h, w)
    local x = (eg.arange(0, w, 0.5) - 0.25 - lens[3]) / lens[1]
    local y = (eg.arange(0, h, 0.5) - 0.25 - lens[4]) / lens[2]
    local n = 4 * h * w
    local rays = eg.stack({x:expand {2 * h, 2 * w}, y:unsqueeze(1):expand {2 * h, 2 * w}, eg.ones {2 * h, 2 * w}}, 0)
    rays = turn:matmul(rays:reshape {3, n})
    local way, side = meet(boxes, place, rays)
    local box = way:argmin {axes = {0}}:unsqueeze(0)
    local depth = way:gather(0, box)
    local rgb = paint(place + rays * depth, box[1]:cast "f32", side:gather(0, box)[1]:cast "f32", skins)
    return rgb:reshape {1, 3, 2 * h, 2 * w}:avg_pool2d {kernel = 2}[1],
        depth:reshape {1, 1, 2 * h, 2 * w}:avg_pool2d {kernel = 2}[1][1]
end

local function flight(number, h, w)
    local before = eg.random_get_state()
    eg.seed(0xf11e5 + number)
    local boxes, skins, c = hall(), {}, eg.uniform({6}, 0, 1):table()
    for i = 1, 5 do
        skins[i] = skin()
    end
    local lens = {0.75 * w, 0.75 * w, w / 2 - 0.5, h / 2 - 0.5}
    local frames, depths, poses = {}, {}, {}
    for t = 1, LENGTH do
        local turn, place = pose(c, t)
        frames[t], depths[t] = draw(boxes, skins, turn, place, lens, h, w)
        poses[t] = eg.concat({turn, place}, 1)
    end
    eg.random_set_state(before)
    return {frames = eg.stack(frames, 0), depths = eg.stack(depths, 0), poses = eg.stack(poses, 0),
            lens = eg.tensor(lens)}
end

-- ---- files --------------------------------------------------------------------------------------------

local function numbers(path, count)
    local all, file = {}, io.open(path)
    for number in (file and file:read "a" or ""):gsub("P%d:", ""):gmatch "[%d.eE+-]+" do
        all[#all + 1] = tonumber(number)
    end
    return (not count or #all >= count) and #all > 0 and all or nil
end

--- A video of a folder with image_2 or image_l and calib.txt, poses elsewhere.
local function read(folder, poses, h, w)
    local frames, size = {}, nil
    for _, images in ipairs {"image_2", "image_0", "image_l"} do
        local probe = io.open(("%s/%s/000000.png"):format(folder, images))
        if probe then
            probe:close()
            for _, bytes in eg.data.files(("%s/%s/*.png"):format(folder, images)) do
                local image = eg.image_decode(bytes:bytes(), {channels = 3})
                size = image:shape()
                frames[#frames + 1] = image:image_to_float():image_resize(h, w, {antialias = true})
            end
            break
        end
    end
    local p = numbers(folder .. "/calib.txt", 12)
    if #frames < 3 or not p then
        error(folder .. " has no frames as image_2/000000.png, or no calib.txt", 0)
    end
    local across, down, all = w / size[3], h / size[2], numbers(poses, 12 * #frames)
    return {frames = eg.stack(frames, 0), poses = all and eg.tensor(all):reshape {#frames, 3, 4},
            lens = eg.tensor {p[1] * across, p[6] * down, (p[3] + 0.5) * across - 0.5, (p[7] + 0.5) * down - 0.5}}
end

--- All videos: the first of the folder on, drawn ones without it.
function flights.open(folder, options)
    local all, h, w = {}, options.height, options.width
    if not folder then
        for i = 1, options.drawn do
            all[i] = flight(i, h, w)
        end
        return all
    end
    local first = io.open(folder .. "/sequences/00/calib.txt")
    if not first then
        return {read(folder, folder .. "/poses.txt", h, w)}
    end
    while first do
        first:close()
        local name = ("%02d"):format(#all)
        all[#all + 1] = read(folder .. "/sequences/" .. name, ("%s/poses/%s.txt"):format(folder, name), h, w)
        first = io.open(("%s/sequences/%02d/calib.txt"):format(folder, #all))
    end
    return all
end

return flights
