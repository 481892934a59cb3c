-- Translating with attention: a network reads Spanish, writes English, and shows where it looks while it writes
-- (Bahdanau, Cho, Bengio 2014).
local here = arg[0]:match "^(.*)/" or "."
package.path = here .. "/?.lua;" .. package.path
local eg = require "egret"
local corpus = require "corpus"
local run = require "egret.run" {
    name = "nmt", unit = "sentences",
    about = "Learns to translate Spanish into English and shows where it looks while it writes.",
    data = "folder with spa.txt or spa.txt.gz; without it a grammar makes sentences",
    epochs = 10, batch = 64, pairs = {0, "the first lines; 0: 30000, of the grammar 12000"},
    embedding = {0, "numbers per word; 0: 256, for the grammar 64"},
    units = {0, "numbers per state; 0: 1024, for the grammar 128"},
    smoke = {steps = 80, pairs = 1000, units = 64},
}

local count = run.pairs > 0 and run.pairs or run.data and 30000 or 12000
local units = run.units > 0 and run.units or run.data and 1024 or 128
local size = run.embedding > 0 and run.embedding or run.data and 256 or 64

-- ---- sentences ----------------------------------------------------------------------------------------
-- A language has its words, each of which is a number, and its sentences as rows of them, filled up with 0 to the
-- longest. Four fifths of the pairs are learned from, the others only measure.
local spanish, english = corpus.load(run.data, count)
local order, learned = eg.permutation(#spanish.rows), #spanish.rows * 4 // 5
local sources, targets = spanish.rows[order], english.rows[order]
local train = run:deal(eg.data.from_tensors {sources[{{1, learned}}], targets[{{1, learned}}]}
    :shuffle(count, {seed = run.seed}):batch(run.batch, {drop_last = true}))
local test = eg.data.from_tensors {sources[{{learned + 1, -1}}], targets[{{learned + 1, -1}}]}:batch(run.batch)
print(("%d pairs (%s): %d Spanish words, %d English"):format(
    #spanish.rows, run.data or "made by a grammar", spanish.words:size() - 1, english.words:size() - 1))

-- ---- the network --------------------------------------------------------------------------------------
-- The encoder gives a state for each word it reads. The decoder writes: attention weighs those states by what it
-- has written so far, and a GRU makes the next state of what it saw and the word before.
local encoder = eg.module {
    embedding = eg.nn.embedding(spanish.words:size(), size),
    gru = eg.nn.gru(size, units, {batch_first = true, reset_before = true}),
    forward = function(self, sentences)
        local read = self.gru:rnn_forward(self.embedding(sentences))
        return read.y, read.h[1]
    end,
}

local decoder = eg.module {
    embedding = eg.nn.embedding(english.words:size(), size),
    gru = eg.nn.gru(units + size, units, {reset_before = true}),
    attention = eg.nn.additive_attention(units, units, units),
    word = eg.nn.linear(units, english.words:size()),
    -- before: the last word [N, size]; state [N, units]; seen: the encoder's [N, S, units]; keys: those, projected
    forward = function(self, before, state, seen, keys)
        local looked = self.attention:additive_attention_forward(state, seen, keys)
        local x = eg.concat({looked.context, before}, 1):unsqueeze(0)
        state = self.gru:rnn_forward(x).h[1]
        return self.word(state), state, looked.weights
    end,
}

for _, net in ipairs {encoder, decoder} do -- what Keras begins with
    net:init "glorot_uniform"
    net.embedding:init("uniform", {low = -0.05, high = 0.05})
end

-- Teacher forcing: whatever it would write, the right word is what it goes on from. The loss is that of a
-- sentence, its padding counted as nothing.
local function loss_of(source, target)
    source, target = source:to(run.device), target:to(run.device)
    local seen, state = encoder(source)
    local keys, known = decoder.attention:additive_attention_keys(seen), decoder.embedding(target)
    local total, logits = 0, nil
    for t = 1, target:shape()[2] - 1 do
        logits, state = decoder(known[{eg.all, t}], state, seen, keys)
        total = total + eg.cross_entropy(logits, target[{eg.all, t + 1}], {reduction = "sum", ignore = true})
    end
    return total / #source
end

-- ---- translating --------------------------------------------------------------------------------------
-- Always the likeliest word. The weights tell where it looked: a row for each word it wrote, a column for each one it
-- read.
local function words_of(text)
    local words = {}
    for word in text:bytes():gmatch "%S+" do
        words[#words + 1] = word
    end
    return words
end

local function translate(sentence)
    local clean = corpus.clean(sentence)
    local read = spanish.words:encode(clean, 0)
    local source = eg.pad_sequences({read}, {maxlen = spanish.longest, pad_after = true})
    local seen, state = encoder(source:to(run.device))
    local keys, stop = decoder.attention:additive_attention_keys(seen), english.words:id "<end>"
    local word, written, weights, logits = eg.tensor {english.words:id "<start>"}, {}, {}, nil
    while #written < english.longest and written[#written] ~= stop do
        logits, state, weights[#weights + 1] = decoder(decoder.embedding(word:to(run.device)), state, seen, keys)
        word = logits:argmax {axes = 1}
        written[#written + 1] = word:item()
    end
    return {read = words_of(clean), written = words_of(english.words:decode(eg.tensor(written))),
            weights = eg.concat(weights, 0)[{eg.all, {1, #read}}]}
end

-- Sentences to show: those all of whose words are in the vocabulary.
local function readable(sentences)
    local known = {}
    for _, sentence in ipairs(sentences) do
        local ids = spanish.words:encode(corpus.clean(sentence), -1)
        known[#known + 1] = ids:ge(0):all():item() and #ids <= spanish.longest and sentence or nil
    end
    return known
end

local samples = readable(run.data and {"Hace mucho frío aquí.", "Esta es mi vida.", "¿Todavía están en casa?"}
    or {"El perro ve la casa.", "¿Buscan los niños una flor roja?", "No queremos los huevos verdes."})

-- ---- learning -----------------------------------------------------------------------------------------

local adam = eg.optim.adam(eg.nn.module_list {encoder, decoder}, {lr = 1e-3, epsilon_outside = true})
run:module("encoder", encoder)
run:module("decoder", decoder)
run:optim("adam", adam)
run.saver:dataset("train", train)

local step = run:resume_step()
local per_epoch = train:count()
local steps = run.steps > 0 and run.steps or run.epochs * per_epoch

while run:goes_on(step, steps) do
    for source, target in train do
        step = step + 1
        local loss = adam:minimize(function() return loss_of(source, target) end)
        run:note(step, "loss", loss / english.longest) -- per word, as the tutorial prints it
        if step == steps then
            break
        elseif step % per_epoch ~= 0 and run:checkpoint(step, false) then
            goto stopped -- the checkpoint of an epoch's last step comes after the translations
        end
    end
    local sum, seen = 0, 0
    for source, target in test do
        sum, seen = sum + loss_of(source, target):item() * #source, seen + #source
    end
    local epoch = math.ceil(step / per_epoch)
    print(("epoch %d: loss %.4f, of pairs not learned from %.4f"):format(
        epoch, run:mean("loss", (epoch - 1) * per_epoch + 1), sum / seen / english.longest))
    for _, sentence in ipairs(samples) do
        print(sentence, "->", table.concat(translate(sentence).written, " "))
    end
    run:checkpoint(step, true)
end
::stopped::

for i, sentence in ipairs(samples) do
    local made = translate(sentence)
    run:picture(("attention-%d.png"):format(i), eg.heatmap, made.weights,
                {rows = made.written, columns = made.read, range = {0, 1}})
end
run:plot("losses.png", {"loss"}, "Translating: cross entropy per word")
print("checkpoints, attention maps and the curve are in " .. run.out)
run:check("loss", 0.8)
run:finish()
