-- Deep Speech 2: writes down what is said (Amodei et al. 2015).
--
-- Nobody tells the net when each letter is said. It names a letter or nothing for each frame, and the loss (Graves et
-- al. 2006) counts all the ways in which that spells the text.
package.path = (arg[0]:match "^(.*)/" or ".") .. "/?.lua;" .. package.path
local eg = require "egret"
local talk = require "talk"
local run = require "egret.run" {
    name = "deepspeech", unit = "recordings", about = "Learns to write down what is said.",
    data = "folder with metadata.csv and wavs, or *.trans.txt and .flac; without it utterances are made up",
    epochs = 10, batch = 16, made = {1000, "utterances that are made up"}, filters = {32, "of a convolution"},
    hidden = {192, "units of each direction"}, layers = {2, "recurrent ones"}, lr = {1e-3, "learning rate"},
    decay = {0.95, "of the statistics of norms"},
    smoke = {steps = 30, batch = 8, made = 60, filters = 4, hidden = 24, lr = 5e-3, decay = 0.8},
}

-- ---- what is said -------------------------------------------------------------------------------------
-- Each tenth utterance is not learned from. The first epoch goes from short ones to long ones, which is easier to learn.
local learned, others = {}, {}
if run.data then
    for i, utterance in ipairs(talk.read(run.data)) do
        table.insert(i % 10 == 0 and others or learned, utterance)
    end
else
    learned, others = talk.make(run.made, 1), talk.make(math.max(run.made // 10, 4), 2)
end
table.sort(learned, function(a, b)
    return #a.text ~= #b.text and #a.text < #b.text or #a.text == #b.text and (a.path or a.seed) < (b.path or b.seed)
end)
local numbers = eg.data.from_tensors {eg.arange(1, #learned + 1, 1, "i64")}:batch(run.batch, {drop_last = true})
local train = run:deal(numbers:shuffle(#learned // run.batch + 1, {seed = run.seed, ordered = 1}))
local per_epoch = train:count()

-- ---- the net ------------------------------------------------------------------------------------------
-- Convolutions see many frames and bins at once, and leave a quarter of the frames. Recurrent layers read these from both
-- ends.
local function norm(features) return eg.nn.batch_norm(features, {momentum = 1 - run.decay}) end

local function relu6() return eg.nn.activation(eg.relu6) end

local convs = eg.nn.sequential {
    eg.nn.conv2d(1, run.filters, {kernels = {41, 11}, strides = {2, 2}, pads = {{20, 20}, {5, 5}}, no_bias = true}),
    norm(run.filters), relu6(),
    eg.nn.conv2d(run.filters, run.filters, {kernels = {21, 11}, strides = {2, 1}, pads = {{10, 10}, {5, 5}}, no_bias = true}),
    norm(run.filters), relu6(),
}
local layers, norms = {}, {}
for i = 1, run.layers do
    local columns = i == 1 and 81 * run.filters or 2 * run.hidden
    layers[i] = eg.nn.gru(columns, run.hidden, {bidirectional = true, batch_first = true, reset_before = true})
    norms[i] = norm(2 * run.hidden)
end
local out = eg.nn.linear(2 * run.hidden, #talk.letters + 1)
local net = eg.nn.module_list {convs, eg.nn.module_list(layers), eg.nn.module_list(norms), out}

--- Log probabilities [T, N, letters], and how many of the T frames count.
local function listen(x, frames)
    frames = ((frames + 1):floor_divide(2) + 1):floor_divide(2)
    x = convs(x:unsqueeze(1)):permute {0, 2, 3, 1}:flatten(2, 3)
    for i = 1, run.layers do
        x = layers[i]:rnn_forward(x, {lengths = frames}).y
        x = norms[i](x:flatten(0, 1)):reshape(x:shape())
    end
    return out(x):log_softmax(2):transpose(0, 1), frames
end

local function loss_of(log_probs, frames, letters, counts)
    return eg.ctc_loss(log_probs, letters, {input_lengths = frames, target_lengths = counts, blank = talk.blank,
                                            reduction = "none", zero_infinity = true}):mean()
end

-- ---- learning -----------------------------------------------------------------------------------------
local adam = eg.optim.adam(net, {lr = run.lr})
run:module("net", net)
run:optim("adam", adam)
run.saver:dataset("train", train)
local step = run:resume_step()
local steps = run.steps > 0 and run.steps or run.epochs * per_epoch
print(("%d utterances to learn from, %d to be judged by (%s)"):format(#learned, #others, run.data or "made up"))

local function batch(list, at)
    local x, frames, letters, counts = talk.batch(list, at)
    return x:to(run.device), frames:to(run.device), letters:to(run.device), counts:to(run.device)
end

-- What is written down of utterances that were not learned from.
local function examine()
    local found = eg.metrics()
    net:eval()
    for first = 1, #others, run.batch do
        local at = {}
        for i = first, math.min(first + run.batch - 1, #others) do
            at[#at + 1] = i
        end
        local x, frames, letters, counts = batch(others, at)
        local log_probs, lengths = listen(x, frames)
        found:mean("loss", loss_of(log_probs, lengths, letters, counts))
        local heard = eg.ctc_greedy(log_probs, lengths, talk.blank):to "cpu"
        for i, n in ipairs(at) do
            local text = talk.text(heard[i]:table())
            found:wer("wer", text, others[n].text)
            found:cer("cer", text, others[n].text)
            if n <= 3 then
                print("  said:  " .. others[n].text)
                print("  heard: " .. text)
            end
        end
    end
    net:train()
    return found:value "wer", found:value "cer", found:value "loss"
end

while run:goes_on(step, steps) do
    for at in train do
        step = step + 1
        local x, frames, letters, counts = batch(learned, at:table())
        local loss = adam:minimize(function()
            local log_probs, lengths = listen(x, frames)
            return loss_of(log_probs, lengths, letters, counts)
        end)
        run:note(step, "loss", loss)
        if step == steps then
            break
        elseif step % per_epoch ~= 0 and run:checkpoint(step, step % (run.smoke and 4 or 100) == 0) then
            goto stopped -- the checkpoint of an epoch's last step comes after the evaluation
        end
    end
    local epoch, wer, cer, loss = math.ceil(step / per_epoch), examine()
    run:note(step, "valid/wer", wer, "valid/cer", cer, "valid/loss", loss)
    print(("epoch %d: loss %.3f, of others %.3f; %.2f %% of words wrong, %.2f %% of letters"):format(
        epoch, run:mean("loss", (epoch - 1) * per_epoch + 1), loss, 100 * wer, 100 * cer))
    run.saver:save_best(step, -wer)
    run:checkpoint(step, true)
end
::stopped::

-- ---- when which letter was heard ----------------------------------------------------------------------
net:eval()
local x, frames = batch(others, {1})
local p = listen(x, frames):select(1, 0):exp():transpose(0, 1):to "cpu"
local names = {}
for i = 1, #talk.letters do
    names[i] = talk.letters:sub(i, i):gsub(" ", "_")
end
names[#names + 1] = "-"
run:picture("letters.png", eg.heatmap, p, {rows = names, range = {0, 1}, title = others[1].text})
run:picture("sound.png", eg.sound, talk.sound(others[1]), {rate = talk.rate, title = others[1].text})
run:plot("loss.png", {"loss"}, "CTC loss of an utterance")
print("model, pictures and curves are in " .. run.out)
run:check("loss", 0.9, 3)
run:finish()
