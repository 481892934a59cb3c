-- Reading digits: a small convolutional network learns which of ten digits a picture shows.
package.path = (arg[0]:match "^(.*)/" or ".") .. "/../common/?.lua;" .. package.path
local eg = require "egret"
local glyphs = require "glyphs"
local run = require "egret.run" {
    name = "digits", unit = "images",
    about = "Trains a small convolutional network to read digits and shows what it learned.",
    data = "folder with the four MNIST files, plain or .gz; without it digits are drawn",
    epochs = 3, batch = 64, drawn = {20000, "how many digits to draw"}, lr = {2e-3, "learning rate at the start"},
    smoke = {steps = 40, drawn = 2000},
}

-- ---- the digits ---------------------------------------------------------------------------------------
-- A sample is a picture, [1, 28, 28] of 0..1, and its label. A dataset is a chain: where samples come from, then
-- what becomes of them on the way. Batches are made ahead by a thread while the network computes.
local function digits(split, count)
    if run.data then
        return eg.data.mnist(run.data, split)
    end
    return eg.data.from_tensors {glyphs.digits(count)}
end

local train = run:deal(digits("train", run.drawn):shuffle(10000, {seed = run.seed})
    :batch(run.batch, {drop_last = true}):prefetch(4))
local test = digits("test", run.smoke and 200 or run.drawn // 4):batch(100)

-- ---- the network --------------------------------------------------------------------------------------
-- Four convolutions, two of which halve the sides: 28 x 28, 14 x 14, 7 x 7. The last layer gives a score to
-- each of the ten digits.
local function layer(channels, features, stride)
    return eg.nn.sequential {
        eg.nn.conv2d(channels, features, {kernel = 3, stride = stride, padding = eg.SAME, no_bias = true}),
        eg.nn.batch_norm(features), eg.nn.activation(eg.relu),
    }
end

local net = eg.nn.sequential {
    layer(1, 32, 1), layer(32, 32, 2), layer(32, 64, 1), layer(64, 64, 2),
    eg.nn.flatten(), eg.nn.dropout(0.4), eg.nn.linear(64 * 7 * 7, 10),
}

-- ---- learning -----------------------------------------------------------------------------------------
-- The rate falls along half a cosine from its full height to nothing.
local steps = run.steps > 0 and run.steps or run.epochs * train:count()
local adam = eg.optim.adam(net, {lr = run.lr})
adam:follow {kind = "cosine", lr = run.lr, steps = steps}

run:module("net", net)
run:optim("adam", adam)
run.saver:dataset("train", train)
local step = run:resume_step()
print(("%d steps of %d digits (%s)"):format(steps, run.batch, run.data or "drawn"))

while run:goes_on(step, steps) do
    for image, label in train do
        step = step + 1
        image, label = image:to(run.device), label:to(run.device)
        local loss = adam:minimize(function() return eg.cross_entropy(net(image), label) end)
        run:note(step, "loss", loss, "rate", adam:rate())
        if step % 50 == 0 then
            print(("step %d: loss %.4f"):format(step, run:mean("loss", -50)))
        end
        if run:checkpoint(step, step % (run.smoke and 10 or 200) == 0 or step == steps) or step == steps then
            break
        end
    end
end

-- ---- what it learned ----------------------------------------------------------------------------------
-- Digits it has never seen: how many does it read right, and which ones not?

net:eval()
local right, seen, wrong = 0, 0, {}
for image, label in test do
    local guess = net(image:to(run.device)):argmax {axes = 1}:to "cpu"
    right = right + guess:eq(label):cast("i64"):sum():item()
    seen = seen + #label
    for i = 1, #label do
        if #wrong < 24 and guess[i]:item() ~= label[i]:item() then
            wrong[#wrong + 1] = image[i]
            print(("wrong: took a %d for a %d"):format(label[i]:item(), guess[i]:item()))
        end
    end
end
print(("read right: %.2f %% of %d digits it has never seen"):format(100 * right / seen, seen))

net:save(run:path "digits.safetensors")
if #wrong > 0 then
    run:picture("wrong.png", eg.show, eg.stack(wrong, 0), {columns = 8})
end
run:plot("loss.png", {"loss"}, "Cross entropy while training")
print("model, wrong digits and curve are in " .. run.out)
run:check("loss", 0.8)
run:finish()
