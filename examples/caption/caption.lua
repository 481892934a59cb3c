-- Says what is on a photo word by word, looking where each word needs it (Xu et al. 2015).
local here = arg[0]:match "^(.*)/" or "."
package.path = here .. "/?.lua;" .. here .. "/../common/?.lua;" .. package.path
local eg = require "egret"
local scenes = require "scenes"
local trunk = require "trunk"
local run = require "egret.run" {
    name = "caption", unit = "captions", about = "Learns to say what is on a photo.",
    data = "folder with captions.txt and images as Flickr8k's; without it scenes are drawn",
    epochs = 14, batch = 64, photos = {0, "the first so many; 0: 700, of drawn scenes 1200"},
    trunk = {"", "a net of eg.model that looks: efficientnet_lite0, of drawn scenes resnet_cifar_20"},
    tap = {"", "its layer whose maps are looked at; else the last that makes some, where that is known"},
    weights = {nil, "a file of its weights; without it they are by chance"},
    units = {128, "of the GRU, attention, and the layer behind"}, embedding = {64, "numbers of a word, and of a place"},
    rate = {0.0, "Adam's; 0: 1e-3, of drawn scenes 3e-3"},
    smoke = {steps = 60, photos = 120, batch = 16, units = 64, embedding = 32, rate = 5e-3},
}
local side = run.data and 224 or 48
local rate = run.rate > 0 and run.rate or run.data and 1e-3 or 3e-3

-- ---- what a trained net sees --------------------------------------------------------------------------
-- Its layers up to the last that makes maps; each place of these is what the decoder can look at.
math.randomseed(run.seed)
local photos = scenes.load(run.data, run.photos > 0 and run.photos or run.data and 700 or 1200, side)
local name = run.trunk ~= "" and run.trunk or run.data and "efficientnet_lite0" or "resnet_cifar_20"
local tap = run.tap ~= "" and run.tap or name:find "^resnet_cifar" and "block3_unit1" or name:find "^efficientnet" and "top"
    or error("which layer of " .. name .. "? --tap says it", 0)

eg.seed(42) -- a trunk by chance is always the same
local eyes = trunk.new(name, tap, run.weights)
eyes:to_device(run.device)
eg.seed(run.seed)
local rows, columns
for _, photo in ipairs(photos) do
    local maps = eyes(photo.image:unsqueeze(0):to(run.device))[1]
    rows, columns = maps:shape()[2], maps:shape()[3]
    photo.places = maps:flatten(1, 2):transpose(0, 1):contiguous():to "cpu"
end

-- ---- words --------------------------------------------------------------------------------------------
local function clean(caption)
    return eg.text_normalise(eg.text(caption), {lower = true, blank = "!\"#$%&()*+.,-/:;=?@[]^_`{|}~", trim = true})
end

local held = math.max(1, #photos // 10)
local learned_from = #photos - held
local counts, samples, others = eg.word_counts(), {}, {}
for i, photo in ipairs(photos) do
    for _, caption in ipairs(photo.captions) do
        table.insert(i <= learned_from and samples or others, {photo = photo, text = clean(caption)})
    end
end
for _, sample in ipairs(samples) do
    counts:add(sample.text)
end
local words = eg.vocabulary(counts, {reserved = {"<pad>", "<unk>", "<start>", "<end>"}, max_size = 5001})
local start, stop = words:id "<start>", words:id "<end>"
print(("%d captions of %d photos to learn from, %d photos to be judged by, %d words (%s)"):format(
    #samples, learned_from, held, words:size(), run.data or "drawn scenes"))

local function dataset_of(list)
    return eg.data.from(function(i)
        local sample = list[i + 1]
        return sample.photo.places, eg.concat({eg.tensor {start}, words:encode(sample.text, 1), eg.tensor {stop}}, 0)
    end, #list)
end
local learned = run:deal(dataset_of(samples):shuffle(#samples, {seed = run.seed})
    :padded_batch(run.batch, {drop_last = true}))
local judged = dataset_of(others):padded_batch(run.batch)

-- ---- the net ------------------------------------------------------------------------------------------
local channels = photos[1].places:shape()[2]
local net = eg.module {
    see = eg.nn.linear(channels, run.embedding),
    embedding = eg.nn.embedding(words:size(), run.embedding),
    attention = eg.nn.additive_attention(run.units, run.embedding, run.units),
    gru = eg.nn.gru(2 * run.embedding, run.units),
    hidden = eg.nn.linear(run.units, run.units),
    word = eg.nn.linear(run.units, words:size()),
    -- before: the last word [N, embedding]; state [N, units]; places [N, P, embedding]; keys: those, projected
    forward = function(self, before, state, places, keys)
        local looked = self.attention:additive_attention_forward(state, places, keys)
        local x = eg.concat({looked.context, before}, 1):unsqueeze(0)
        state = self.gru:rnn_forward(x, {h0 = state:unsqueeze(0)}).h[1]
        return self.word(self.hidden(state)), state, looked.weights
    end,
}
run:module("net", net)

local function look(features)
    local places = net.see(features):relu()
    return places, net.attention:additive_attention_keys(places), eg.zeros({#features, run.units}):to(run.device)
end

-- Teacher forcing: whatever it would say, the right word is what it goes on from.
local function loss_of(features, captions)
    local places, keys, state = look(features)
    local known, total, logits = net.embedding(captions), 0, nil
    for t = 1, captions:shape()[2] - 1 do
        logits, state = net(known[{eg.all, t}], state, places, keys)
        total = total + eg.cross_entropy(logits, captions[{eg.all, t + 1}], {reduction = "sum", ignore = true})
    end
    return total / #captions
end

--- What it says of a photo, a list of words, and where it looked for each, [words, rows, columns].
local function say(photo)
    local places, keys, state = look(photo.places:unsqueeze(0):to(run.device))
    local id, said, maps, logits, weights = start, {}, {}, nil, nil
    while #said < 30 do
        logits, state, weights = net(net.embedding(eg.tensor {id}:to(run.device)), state, places, keys)
        id = logits:argmax():item()
        if id == stop then
            break
        end
        table.insert(said, words:word(id))
        table.insert(maps, weights[1]:reshape {rows, columns}:to "cpu")
    end
    return said, maps
end

local function judge()
    local found, total, count = eg.metrics(), 0, 0
    net:eval()
    for features, captions in judged do
        local n = #captions
        total = total + loss_of(features:to(run.device), captions:to(run.device)):item() * n
        count = count + captions[{eg.all, {2, captions:shape()[2]}}]:ne(0):sum():item()
    end
    for i = learned_from + 1, #photos do
        local right = {}
        for k, caption in ipairs(photos[i].captions) do
            right[k] = clean(caption):bytes()
        end
        found:bleu("bleu", table.concat((say(photos[i])), " "), right, {tokens = "none"})
    end
    net:train()
    return total / count, found:value "bleu"
end

-- ---- learning -----------------------------------------------------------------------------------------
local adam = eg.optim.adam(net, {lr = rate})
run:optim("adam", adam)
run.saver:dataset("train", learned)
local step = run:resume_step()
local epochs = 0
local steps = run.steps > 0 and run.steps or run.epochs * (#samples // (run.batch * run.ranks))

while run:goes_on(step, steps) do
    local first = step + 1
    for features, captions in learned do
        step = step + 1
        features, captions = features:to(run.device), captions:to(run.device)
        run:note(step, "loss", adam:minimize(function() return loss_of(features, captions) end))
        if run:checkpoint(step, step % 1000 == 0) then
            goto stopped
        elseif step == steps then
            break
        end
    end
    epochs = epochs + 1
    local loss, bleu = judge()
    print(("epoch %d: loss %.3f a caption; of photos not learned from %.4f a word, BLEU %.1f"):format(
        epochs, run:mean("loss", first), loss, bleu))
    print("  " .. table.concat((say(photos[#photos])), " "))
    run:checkpoint(step, true)
end
::stopped::

-- ---- where it looks -----------------------------------------------------------------------------------
-- The photo, and for each word once more, dark where the net did not look.
net:eval()
local said, maps = say(photos[#photos])
local image = (photos[#photos].image + 1) / 2
local panels = {image}
for t, map in ipairs(maps) do
    local light = (map / map:max()):unsqueeze(0):image_resize(side, side)
    panels[t + 1] = image * (light * 0.7 + 0.3)
end
print(("words.png: the last photo, and where it looked for each word of \"%s\""):format(table.concat(said, " ")))
run:picture("words.png", eg.show, eg.stack(panels, 0), {columns = 5, range = {0, 1}, scale = run.data and 1 or 4})
run:plot("loss.png", {"loss"}, "Loss per caption")
run:check("loss", 0.9)
run:finish()
