-- trunk.lua - nets that only look: the layers of a net up to one of them, which learn no more.
--
--     local net = trunk.new("vgg_19", "conv5_2", "vgg19.safetensors")
local eg = require "egret"

local trunk = {}

--- The layers one behind the other: of VGG those before the dense ones.
local function layers_of(net, name)
    return name:find "^vgg" and net:find "features" or net
end

local function begin_of(layers, last)
    local some, stop = {}, layers:find(last)
    for i, layer in ipairs(layers) do
        some[i] = layer:copy()
        if rawequal(layer, stop) then
            break
        end
    end
    return eg.nn.sequential(some)
end

--- The net of that name of eg.model, up to that layer, with the weights of a file under the names the net has, or those
--- that others gave them; without a file by He's chance, which passes on as much as it is given.
function trunk.new(name, last, weights)
    local net = eg.model(name)
    local file = weights and eg.tensors_open(weights)
    local names = eg.model_find(name).names
    local renamed = file and names and file:renamed(names)
    if renamed and renamed:count() > 0 then
        net:load_state(renamed, {allow_missing = true})
        file = nil
    end
    local some = begin_of(layers_of(net, name), last)
    if file then
        some:load_state(file)
    elseif not weights then
        some:init "he_normal"
    end
    some:freeze()
    return some:eval()
end

return trunk
