-- pictures.lua - pictures, f32 [3, H, W] of 0..255, as files or drawn, and canvases: what a net is shown of them,
-- f32 [1, 3, H, W] of B, G, R minus their means.
--
--     local photo = pictures.load("photo.jpg", 512)
--     local canvas = pictures.canvas(photo)
--     eg.show(pictures.shown(canvas), {range = {0, 255}})
local eg = require "egret"

local pictures = {}

-- ---- files --------------------------------------------------------------------------------------------

--- With its longer side of so many pixels, by Lanczos; rounded, as files have them.
function pictures.load(path, side)
    local photo = eg.image_load(path, {channels = 3})
    local height, width = photo:shape()[2], photo:shape()[3]
    local scale = side / math.max(height, width)
    local function rounded(n) return math.max(1, math.floor(n * scale + 0.5)) end
    return eg.image_resize(photo, rounded(height), rounded(width), {mode = "lanczos3", antialias = true}):cast "f32"
end

--- The first file that matches.
function pictures.first(pattern, side)
    local path
    for name in eg.data.shards(pattern, function(name) return eg.data.from_tensors {eg.text(name):unsqueeze(0)} end) do
        path = path or name:bytes()
    end
    return pictures.load(path, side)
end

-- ---- drawn --------------------------------------------------------------------------------------------
-- x goes from the left, y from the top, both in heights. `inside` is 1 where a number is positive, 0 elsewhere.

local function places(side)
    local height = side * 3 // 4
    return (eg.arange(0, side, 1) + 0.5) / height, ((eg.arange(0, height, 1) + 0.5) / height):reshape {height, 1}
end

local function inside(depth) return depth:gt(0):cast "f32" end

local function colour(red, green, blue) return eg.tensor({red, green, blue}, "f32"):reshape {3, 1, 1} end

--- A house before hills.
function pictures.scene(side)
    local x, y = places(side)
    local hill, wall = 0.66 - (x * 4):sin() * 0.07, (x - 0.6):abs()
    local picture = colour(47, 111, 181) + y * colour(200, 106, -10)
    local function lay(depth, paint) picture = picture + inside(depth) * (paint - picture) end
    lay(0.09 - (x - 1.05):hypot(y - 0.2), colour(255, 241, 176))
    lay(y - hill, colour(111, 174, 69) - (y - hill) * 150 + (x * 60):sin() * (y * 90):sin() * 15)
    lay((0.18 - wall):minimum(0.11 - (y - 0.66):abs()), colour(230, 216, 192))
    lay((0.57 - y):minimum((y - 0.36) - wall), colour(168, 64, 44))
    lay((0.04 - (x - 0.5):abs()):minimum(0.07 - (y - 0.7):abs()), colour(75, 51, 36))
    lay((0.05 - (x - 0.68):abs()):minimum(0.04 - (y - 0.64):abs()), colour(132, 197, 232))
    return picture:clamp(0, 255):round()
end

--- Strokes that go round a few places, of the colours of night.
function pictures.paint(side)
    local x, y = places(side)
    local wave, glow = (y * 34 + (x * 5):sin() * 3 + (x * 11 + y * 7):sin() * 2):sin(), 0
    for _, whirl in ipairs {{0.3, 0.3, 3}, {0.95, 0.35, -3}, {0.62, 0.72, 3}, {1.2, 0.85, -3}, {0.1, 0.85, -3}} do
        local dx, dy = x - whirl[1], y - whirl[2]
        local r = dx:hypot(dy)
        wave = wave + (r * r / -0.035):exp() * ((r * 60 + dy:atan2(dx) * whirl[3]):sin() - wave)
        glow = glow + (r * r / -0.004):exp()
    end
    local stroke, grain = wave * 0.5 + 0.5, (wave * 2.3 + x * 40 + (y * 31):sin() * 9):sin() * 0.5 + 0.5
    local picture = colour(11, 31, 78) + stroke * colour(52, 96, 118)
    picture = picture + (stroke:pow(6) * grain) * (colour(191, 216, 230) - picture)
    local light = (glow + (stroke * grain):pow(8) * 0.9):clamp(0, 1)
    return (picture + light * (colour(232, 144, 42) + stroke * colour(19, 89, 96) - picture)):clamp(0, 255):round()
end

-- ---- canvases -----------------------------------------------------------------------------------------

local means = colour(103.939, 116.779, 123.68) -- of B, G, R

function pictures.canvas(picture) return (picture:flip {0} - means):unsqueeze(0):contiguous() end

function pictures.shown(canvas) return (canvas[1]:to "cpu" + means):flip {0}:clamp(0, 255) end

--- In place: each channel within what a picture can have.
function pictures.clip(canvas)
    local low = -means:to(canvas:device())
    canvas:maximum_(low):minimum_(low + 255)
end

--- Beside each other, each made as high and as wide as the first.
function pictures.row(all)
    local cells = {}
    for i, picture in ipairs(all) do
        cells[i] = eg.image_resize(picture, all[1]:shape()[2], all[1]:shape()[3], {antialias = true})
    end
    return cells
end

return pictures
