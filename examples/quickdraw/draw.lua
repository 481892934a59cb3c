-- draw.lua - one draws in the terminal, and is told what it is.
--
--     egret examples/quickdraw/quickdraw.lua          makes egret-out/quickdraw-lua/reader.safetensors
--     egret examples/quickdraw/draw.lua [FOLDER]
--
-- The mouse draws; u takes a stroke back, c all of them, q ends it. It takes a terminal that tells of the mouse (SGR
-- 1006, as xterm and nearly all others do).
package.path = (arg[0]:match "^(.*)/" or ".") .. "/?.lua;" .. package.path
local eg = require "egret"
local drawn, reader = require "drawn", require "reader"

local folder = arg[1] or "egret-out/quickdraw-lua"
local found, setup = pcall(dofile, folder .. "/reader.lua")
if not found then
    io.stderr:write("draw: there is no net in ", folder, ": train one with quickdraw.lua\n")
    os.exit(1)
end
local net = reader.new(#setup.names, setup.width, setup.layers)
net.all:load(folder .. "/reader.safetensors")
net.all:eval()

-- ---- the terminal -------------------------------------------------------------------------------------

local function height()
    local pipe = io.popen "stty size </dev/tty 2>/dev/null"
    local rows = tonumber((pipe:read "a" or ""):match "^(%d+)")
    pipe:close()
    return rows and rows > 0 and rows or 24
end

local rows = height()

local function write(...)
    io.write(...)
    io.flush()
end

local function put(x, y, text)
    write(("\27[%d;%dH%s"):format(y, x, text))
end

local function status(text)
    put(1, rows, "\27[2K" .. text)
end

-- ---- drawing ------------------------------------------------------------------------------------------

local strokes, stroke = {}, nil

local function redraw()
    write "\27[2J"
    for _, one in ipairs(strokes) do
        for _, point in ipairs(one) do
            put(point[1], point[2] // 2, "●")
        end
    end
end

-- Cells between two points are drawn, too: the mouse is not told of at every one.
local function line_to(x, y)
    local last = stroke[#stroke]
    local n = last and math.max(math.abs(x - last[1]), math.abs(y - last[2] // 2), 1) or 1
    for i = 1, n do
        local px = last and last[1] + (x - last[1]) * i // n or x
        local py = last and last[2] // 2 + (y - last[2] // 2) * i // n or y
        put(px, py, "●")
    end
    if not last or last[1] ~= x or last[2] ~= 2 * y then
        stroke[#stroke + 1] = {x, 2 * y} -- a cell is twice as high as it is wide
    end
end

--- The likeliest things, with how sure that is.
local function guess()
    local points = 0
    for _, one in ipairs(strokes) do
        points = points + #one
    end
    if points < 2 then
        return status "draw something"
    end
    local ink = drawn.ink(strokes)
    local p = net:read(ink:unsqueeze(0), eg.tensor {#ink}):softmax(1):squeeze {0}
    local values, places = p:topk(math.min(3, #setup.names), 0, true)
    local words = {}
    for i = 1, #values do
        words[i] = ("%s %.0f %%"):format(setup.names[places[i]:item() + 1], 100 * values[i]:item())
    end
    status(table.concat(words, ", ") .. "   (u: take back, c: clear, q: quit)")
end

local function mouse(button, x, y, pressed)
    if not pressed then
        if stroke then
            strokes[#strokes + 1] = stroke
            stroke = nil
            guess()
        end
    elseif (button == 0 or button == 32) and y < rows then
        stroke = stroke or {}
        line_to(x, y)
    end
end

--- The numbers of "\27[<0;12;7M", behind its "\27[<".
local function read_mouse()
    local text = ""
    while true do
        local c = io.read(1)
        if not c or #text > 20 then
            return
        end
        text = text .. c
        if c == "M" or c == "m" then
            local button, x, y = text:match "^(%d+);(%d+);(%d+)"
            if button then
                mouse(tonumber(button), tonumber(x), tonumber(y), c == "M")
            end
            return
        end
    end
end

local function loop()
    status "draw with the mouse   (u: take back, c: clear, q: quit)"
    while true do
        local c = io.read(1)
        if not c or c == "q" or c == "\3" then
            return
        elseif c == "c" then
            strokes = {}
            redraw()
            guess()
        elseif c == "u" and #strokes > 0 then
            strokes[#strokes] = nil
            redraw()
            guess()
        elseif c == "\27" and io.read(1) == "[" and io.read(1) == "<" then
            read_mouse()
        end
    end
end

os.execute "stty raw -echo </dev/tty 2>/dev/null"
write "\27[?1049h\27[2J\27[?1002h\27[?1006h"
local fine, words = pcall(loop)
write "\27[?1006l\27[?1002l\27[?1049l"
os.execute "stty sane </dev/tty 2>/dev/null"
if not fine then
    io.stderr:write(words, "\n")
    os.exit(1)
end
