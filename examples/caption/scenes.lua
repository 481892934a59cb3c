-- scenes.lua - figures on a ground, and what is to be said of them; or photos with captions.
--
--     local photos = scenes.load(nil, 600, 48)
--     photos[1].image        f32 [3, 48, 48] of -1..1
--     photos[1].captions     {"a large red circle .", "there is a large red circle .", ...}
local eg = require "egret"

local paints = {red = {205, 50, 45}, blue = {50, 90, 200}, green = {50, 150, 70}, yellow = {235, 200, 60},
                white = {240, 240, 240}, purple = {130, 60, 160}}
local paint_names = {"red", "blue", "green", "yellow", "white", "purple"}
local forms = {"circle", "square", "triangle", "ring"}
local scenes = {}

local function any(list)
    return list[math.random(#list)]
end

--- Where a figure is, 1 there and 0 elsewhere; x and y are the places' coordinates from 0 to 1.
local function mask_of(f, x, y)
    local r = f.large and 0.2 or 0.11
    local dx, dy = x - f.x, y - f.y
    if f.form == "square" then
        return dx:abs():maximum(dy:abs()):lt(0.88 * r):cast "f32"
    elseif f.form == "triangle" then
        return dy:lt(0.8 * r):logical_and(dx:abs():lt((dy + r) * 0.6)):cast "f32"
    end
    local d = (dx * dx + dy * dy):sqrt()
    return (f.form == "ring" and d:lt(r):logical_and(d:gt(0.55 * r)) or d:lt(r)):cast "f32"
end

local function draw(figures, side)
    local line = (eg.arange(0, side, 1) + 0.5) / side
    local x, y = line:unsqueeze(0):expand {side, side}, line:unsqueeze(1):expand {side, side}
    local image = eg.randn({3, side, side}) * 8 + math.random(60, 140)
    for _, f in ipairs(figures) do
        local mask = mask_of(f, x, y)
        image = image * (1 - mask) + mask * eg.tensor(paints[f.paint]):reshape {3, 1, 1}
    end
    return image:clamp(0, 255) / 127.5 - 1
end

--- One figure, or two beside or above each other, and three ways to say it.
local function scene(side, two)
    local above = math.random(2) == 1
    local figures, names, sized = {}, {}, {}
    for i = 1, two and 2 or 1 do
        local along = two and (i == 1 and 0.28 or 0.72) or 0.3 + 0.4 * math.random()
        local across = 0.35 + 0.3 * math.random()
        figures[i] = {form = any(forms), paint = any(paint_names), large = math.random(2) == 1,
                      x = above and across or along, y = above and along or across}
        names[i] = ("a %s %s"):format(figures[i].paint, figures[i].form)
        sized[i] = ("a %s %s %s"):format(figures[i].large and "large" or "small", figures[i].paint, figures[i].form)
    end
    local captions = two and {
        ("%s %s %s"):format(sized[1], above and "above" or "to the left of", sized[2]),
        ("%s %s %s"):format(names[1], above and "above" or "to the left of", names[2]),
        ("%s is %s %s"):format(sized[2], above and "below" or "to the right of", sized[1]),
    } or {sized[1], "there is " .. names[1], sized[1] .. " on its own"}
    return {image = draw(figures, side), captions = captions}
end

--- Flickr8k's folder: captions.txt of lines "photo,caption" behind a heading, and images.
local function read(folder, count, side)
    local all, by_name = {}, {}
    for line in eg.data.text_lines(folder .. "/captions.txt"):skip(1) do
        local name, caption = line:bytes():match '^([^,]+),"?(.-)"?$'
        local photo = by_name[name]
        if name and not photo and #all < count then
            local image = eg.image_load(folder .. "/images/" .. name, {channels = 3})
            photo = {image = eg.preprocess("inception", image, {side = side}), captions = {}}
            by_name[name] = photo
            table.insert(all, photo)
        end
        if photo then
            table.insert(photo.captions, caption)
        end
    end
    return all
end

--- So many photos of the folder, or made ones, of that side; `alone`: of one figure each.
function scenes.load(folder, count, side, alone)
    if folder then
        return read(folder, count, side)
    end
    local all = {}
    for i = 1, count do
        all[i] = scene(side, not alone and math.random(4) > 1)
    end
    return all
end

return scenes
