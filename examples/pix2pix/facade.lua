-- facade.lua - house fronts without a download: a plan and its photo, both boxes written into tensors.
--
--     local pair = facade(seed, 7)   -- f32 [2, 3, 256, 256] of 0..255: the plan and the photo
--
-- A plan has a colour for what a box is, as in the CMP facades; the photo has plaster, glass, shadows and grain.
local eg = require "egret"

local side = 256
local plan_colours = {
    background = {0, 0, 221}, wall = {0, 52, 255}, window = {0, 128, 255}, door = {0, 204, 255},
    sill = {119, 255, 144}, balcony = {196, 255, 64}, cornice = {255, 85, 0}, shop = {172, 0, 0},
}
local plasters = {{214, 186, 132}, {198, 130, 104}, {176, 172, 164}, {206, 206, 190}, {158, 92, 74}, {168, 186, 160}}
local trim, frame, glass, tiles = {224, 218, 204}, {232, 230, 224}, {52, 62, 76}, {142, 72, 52}

--- A function random(low, high) of whole numbers, that depends on the two numbers alone: SplitMix64.
local function random_of(seed, index)
    local state = seed * -0x2ebcbd7c217d106b + index * 0x2545f4914f6cdd1d
    return function(low, high)
        state = state - 0x61c8864680b583eb
        local z = (state ~ (state >> 30)) * -0x40a7b892e31b1a47
        z = (z ~ (z >> 27)) * -0x6b2fb644ecceee15
        return low + (z >> 33) % (high - low + 1)
    end
end

--- The place of a box in brackets, cut at the border; nil if nothing is left.
local function place(x, y, width, height)
    local right, below = math.min(x + width, side), math.min(y + height, side)
    x, y = math.max(x, 0), math.max(y, 0)
    return x < right and y < below and {eg.all, {y + 1, below}, {x + 1, right}} or nil
end

local function colour(c, factor)
    return eg.tensor({c[1] * factor, c[2] * factor, c[3] * factor}, "f32"):reshape {3, 1, 1}
end

return function(seed, index)
    local random = random_of(seed, index)
    local plan, photo = eg.zeros {3, side, side}, eg.zeros {3, side, side}

    local function means(what, ...)
        local at = place(...)
        if at then
            plan[at] = colour(plan_colours[what], 1)
        end
    end
    local function paint(c, factor, ...)
        local at = place(...)
        if at then
            photo[at] = colour(c, factor)
        end
    end
    local function light(factor, ...)
        local at = place(...)
        if at then
            photo[at] = photo[at] * factor
        end
    end
    --- A box that stands out: lit on top, with a shadow below and on the right.
    local function relief(c, x, y, width, height, depth)
        light(0.65, x + 1, y + height, width + depth - 1, depth)
        light(0.75, x + width, y + 1, depth, height - 1)
        paint(c, 1, x, y, width, height)
        light(1.12, x, y, width, 1)
        light(0.75, x, y + height - 1, width, 1)
    end
    local function draw_window(x, y, width, height)
        means("window", x, y, width, height)
        paint(frame, 1, x, y, width, height)
        paint(glass, random(80, 120) / 100, x + 2, y + 2, width - 4, height - 4)
        light(random(100, 200) / 100, x + 2, y + 2, width - 4, height // 3) -- the sky in it
        paint(frame, 1, x + width // 2 - 1, y, 2, height)
        paint(frame, 1, x, y + height // 3, width, 2)
        light(0.6, x, y, width, 3)
    end

    -- what is around: sky, roof, neighbours, street
    local left, right = random(0, 1) * random(8, 30), random(0, 1) * random(8, 30)
    local top, below = random(16, 44), random(238, 252)
    local width, ground = side - left - right, below - random(52, 62)
    means("background", 0, 0, side, side)
    paint({205, 214, 226}, random(85, 105) / 100, 0, 0, side, side)
    paint({170, 160, 146}, random(60, 110) / 100, 0, random(20, 60), side, below)
    paint({118, 116, 114}, 1, 0, below, side, side - below)
    paint(tiles, random(70, 110) / 100, left - 2, top - random(8, 20), width + 4, 20)

    -- the wall, the ground floor in stone
    local plaster = plasters[random(1, #plasters)]
    means("wall", left, top, width, below - top)
    paint(plaster, random(90, 110) / 100, left, top, width, below - top)
    light(0.85, left, ground, width, below - ground)
    for y = ground + 6, below - 1, 9 do
        light(0.8, left, y, width, 1)
    end

    -- floors of windows, with sills or balconies
    local floors, columns = random(2, 4), random(3, 6)
    local step, wide = (ground - 18 - top) // floors, width // columns
    local across, high, balconies = wide * random(38, 58) // 100, step * random(56, 66) // 100, random(1, 2 * floors)
    local function middle(column)
        return left + (2 * column - 1) * width // (2 * columns)
    end
    for floor = 1, floors do
        for column = 1, columns do
            local x, y = middle(column) - across // 2, top + 16 + (floor - 1) * step
            draw_window(x, y, across, high)
            if floor == balconies then
                means("balcony", x - 4, y + high * 3 // 5, across + 8, high * 2 // 5 + 2)
                for bar = x - 4, x + across + 3, 3 do
                    paint({36, 36, 40}, 1, bar, y + high * 3 // 5, 1, high * 2 // 5)
                end
                relief(trim, x - 5, y + high, across + 10, 4, 4)
            else
                means("sill", x - 2, y + high, across + 4, 4)
                relief(trim, x - 2, y + high, across + 4, 3, 3)
            end
        end
    end

    -- the ground floor: a door, shops or windows beside it
    local entrance, shops, room = random(1, columns), random(0, 1) == 1, below - ground
    for column = 1, columns do
        local x = middle(column)
        if column == entrance then
            means("door", x - 12, below - room * 3 // 4, 24, room * 3 // 4)
            relief({104, 68, 42}, x - 12, below - room * 3 // 4, 24, room * 3 // 4, 2)
            light(0.6, x, below - room * 3 // 4, 1, room * 3 // 4)
        elseif shops then
            local w = wide * 80 // 100
            means("shop", x - w // 2, ground + 12, w, room - 13)
            paint(glass, 0.9, x - w // 2, ground + 12, w, room - 13)
            relief({150, 40, 36}, x - w // 2 - 1, ground + 12, w + 2, 7, 3)
        else
            draw_window(x - wide // 4, ground + 14, wide // 2, room // 2)
        end
    end
    for _, y in ipairs {ground - 3, top} do
        means("cornice", left, y, width, 8)
        relief(trim, left, y, width, 7, 5)
    end

    -- the camera: stains and the light of the day, then grain
    local day = eg.uniform({1, 1, 8, 8}, 0.8, 1.1):resize({side, side}, {mode = "cubic"})[1]
    local grain = eg.normal({3, side, side}, 0, 4)
    return eg.stack({plan, (photo * day + grain):clamp(0, 255)}, 0)
end
