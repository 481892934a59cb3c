-- reader.lua - the net that reads drawings point by point: convolutions, a bidirectional LSTM, the sum of its states.
local eg = require "egret"

local reader = {}
reader.__index = reader

--- For so many classes; width numbers of each direction, layers of them.
function reader.new(classes, width, layers)
    local net = setmetatable({}, reader)
    net.convs = eg.nn.sequential {
        eg.nn.conv1d(3, 48, {kernel = 5, padding = eg.SAME}), eg.nn.dropout(0.3),
        eg.nn.conv1d(48, 64, {kernel = 5, padding = eg.SAME}), eg.nn.dropout(0.3),
        eg.nn.conv1d(64, 96, {kernel = 3, padding = eg.SAME}),
    }
    net.lstm = eg.nn.lstm(96, width, {layers = layers, bidirectional = true, batch_first = true, one_bias = true})
    net.out = eg.nn.linear(2 * width, classes)
    net.all = eg.nn.module_list {net.convs, net.lstm, net.out}
    net.all:init "glorot_uniform"
    for _, bias in ipairs(net.lstm:parameters()) do
        if #bias:shape() == 1 then
            bias[{{width + 1, 2 * width}}] = 1 -- nothing is forgotten at first
        end
    end
    return net
end

--- ink [N, T, 3], of which each row's first lengths count: logits [N, classes].
function reader:read(ink, lengths)
    local x = self.convs(ink:transpose(1, 2)):transpose(1, 2)
    local y = self.lstm:rnn_forward(x, {lengths = lengths}).y -- 0 behind a row's end
    return self.out(y:sum {axes = 1})
end

return reader
