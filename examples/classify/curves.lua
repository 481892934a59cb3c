-- Curves of several runs in one picture: egret curves.lua FIELD PICTURE.png FOLDER...
local eg = require "egret"
local field, picture = arg[1], arg[2]
if not arg[3] then
    io.stderr:write("usage: egret curves.lua FIELD PICTURE.png FOLDER...\n")
    os.exit(2)
end

--- The steps whose rows in log.jsonl have the field, and its values.
local function read(folder)
    local steps, values = {}, {}
    local pattern = '"' .. field:gsub("%p", "%%%0") .. '":%s*([%d.eE+-]+)'
    for line in io.lines(folder .. "/log.jsonl") do
        local value = line:match(pattern)
        if value then
            steps[#steps + 1], values[#values + 1] = tonumber(line:match '"step":%s*(%d+)'), tonumber(value)
        end
    end
    return steps, values
end

local xs, ys, names = {}, {}, {}
for i = 3, #arg do
    xs[#xs + 1], ys[#ys + 1] = read(arg[i])
    names[#names + 1] = arg[i]:match "([^/]+)/*$"
end
eg.plot(xs, ys, {labels = names, smooth = 0.5, title = field, xlabel = "step", path = picture})
