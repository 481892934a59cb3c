-- Speech commands: which of a few words is in a second of sound (Sainath and Parada 2015; Warden 2018).
--
-- A sound becomes an image: forty cepstra of each hundredth of a second, which say how the voice's tract is formed. Two
-- convolutions look at that as they look at images.
package.path = (arg[0]:match "^(.*)/" or ".") .. "/?.lua;" .. package.path
local eg = require "egret"
local words = require "words"
local run = require "egret.run" {
    name = "speech", unit = "recordings", about = "Learns to tell a few spoken words apart.",
    data = "folder with WORD/SPEAKER_nohash_TAKE.wav and _background_noise_/*.wav; without it words are made up",
    epochs = 20, batch = 100, net = {"conv", "or tiny"}, voices = {60, "that are made up"},
    lr = {1e-2, "learning rate, a tenth in the last fifth"},
    smoke = {steps = 20, batch = 16, voices = 12, net = "tiny", lr = 2e-2},
}

-- ---- the clips ----------------------------------------------------------------------------------------
local all = words.open(run.data, run)
local labels = words.labels
local places = run:deal(eg.data.from_tensors {eg.arange(0, #all.learned.labels, 1, "i64")}
    :shuffle(#all.learned.labels, {seed = run.seed}):batch(run.batch, {drop_last = true}))
local per_epoch = places:count()
local steps = run.steps > 0 and run.steps or run.epochs * per_epoch
print(("%d clips to learn from, %d and %d to be judged by (%s)"):format(
    #all.learned.labels, #all.valid.labels, #all.test.labels, run.data or "made up"))

-- ---- what is heard ------------------------------------------------------------------------------------
-- Frames of 30 ms, each 10 ms: as TensorFlow's kernels have them.
local features = eg.nn.audio_features(words.rate, {
    frame = 480, hop = 160, power = 1, bands = 40, low = 20, high = 4000, scale = "tensorflow", first = 2,
    floor = 1e-12, coefficients = 40, plain_dct = true,
})
features:to_device(run.device)

local function relu() return eg.nn.activation(eg.relu) end

local nets = {
    conv = function()
        return eg.nn.sequential {
            eg.nn.conv2d(1, 64, {kernels = {20, 8}, padding = eg.SAME}), relu(), eg.nn.dropout(0.5),
            eg.nn.max_pool2d {kernel = 2, padding = eg.SAME},
            eg.nn.conv2d(64, 64, {kernels = {10, 4}, padding = eg.SAME}), relu(), eg.nn.dropout(0.5),
            eg.nn.flatten(), eg.nn.linear(64 * 49 * 20, #labels),
        }
    end,
    tiny = function()
        return eg.nn.sequential {
            eg.nn.conv2d(1, 8, {kernels = {10, 8}, stride = 2, padding = eg.SAME}), relu(), eg.nn.dropout(0.5),
            eg.nn.flatten(), eg.nn.linear(8 * 49 * 20, #labels),
        }
    end,
}
local net = assert(nets[run.net], "no net is called " .. run.net)()
net:init("truncated_normal", {std = 0.01})

-- ---- learning -----------------------------------------------------------------------------------------
local sgd = eg.optim.sgd(net, {lr = run.lr})
sgd:follow {kind = "piecewise", lr = run.lr, at = {math.max(steps * 4 // 5, 1)}, rates = {run.lr / 10}}
run:module("net", net)
run:optim("sgd", sgd)
run.saver:dataset("train", places)
local step = run:resume_step()

local function heard(sounds)
    return net(features(sounds:to(run.device)):unsqueeze(1))
end

-- What is heard where a part's words are said.
local function examine(part)
    local found, n = eg.metrics(), #part.labels
    net:eval()
    for first = 0, n - 1, 100 do
        local sounds, said = all:batch(part, eg.arange(first, math.min(first + 100, n), 1, "i64"), false)
        found:confusion("words", heard(sounds), said:to(run.device))
    end
    net:train()
    return found
end

while run:goes_on(step, steps) do
    for at in places do
        step = step + 1
        local sounds, said = all:batch(all.learned, at, true)
        said = said:to(run.device)
        local logits
        local loss = sgd:minimize(function()
            logits = heard(sounds)
            return eg.cross_entropy(logits, said)
        end)
        run:note(step, "loss", loss, "accuracy", logits:argmax {axes = 1}:eq(said):cast "f32":mean(), "rate", sgd:rate())
        if step == steps then
            break
        elseif step % per_epoch ~= 0 and run:checkpoint(step, step % (run.smoke and 4 or 100) == 0) then
            goto stopped -- the checkpoint of an epoch's last step comes after the evaluation
        end
    end
    local epoch, right = math.ceil(step / per_epoch), examine(all.valid):value "words"
    run:note(step, "valid/accuracy", right)
    print(("epoch %d: loss %.4f, %.2f %% right; of others %.2f %%"):format(
        epoch, run:mean("loss", (epoch - 1) * per_epoch + 1), 100 * run:mean("accuracy", (epoch - 1) * per_epoch + 1),
        100 * right))
    run.saver:save_best(step, right)
    run:checkpoint(step, true)
end
::stopped::

-- ---- what was taken for what --------------------------------------------------------------------------
run:best("net", net)
local found = examine(all.test)
local counts = found:matrix("words"):to "cpu"
for i, label in ipairs(labels) do
    local row = {}
    for k = 1, #labels do
        row[k] = ("%5d"):format(counts[{i, k}]:item())
    end
    print(("%11s %s"):format(label, table.concat(row)))
end
print(("%.2f %% of the words of speakers never heard are right"):format(100 * found:value "words"))
counts = counts:cast "f32"
run:picture("confusion.png", eg.heatmap, counts / counts:sum {axes = 1, keepdim = true}:clamp(1, math.huge),
            {rows = labels, columns = labels, range = {0, 1}, title = "What was said (rows), what was heard"})
run:picture("sound.png", eg.sound, all.test.sounds[1],
            {rate = words.rate, title = labels[all.test.labels[1]:item() + 1]})
run:plot_epochs("accuracy", per_epoch, "Accuracy")
run:plot("loss.png", {"loss"}, "Cross entropy")
print("model, pictures and curves are in " .. run.out)
run:check("loss", 0.98, 3)
run:finish()
