-- Says of every word of a sentence to which chunk it belongs, learned from few sentences with marks and from many
-- without: cross-view training (Clark et al. 2018), as TensorFlow's research/cvt_text.
package.path = (arg[0]:match "^(.*)/" or ".") .. "/?.lua;" .. package.path
local eg = require "egret"
local sentences = require "sentences"
local run = require "egret.run" {
    name = "cvt", unit = "sentences",
    about = "Learns to find chunks, from sentences with marks and from sentences without.",
    data = "folder with train.txt and test.txt of CoNLL-2000; without it a small grammar makes sentences",
    epochs = 20, batch = 64, count = {10000, "sentences to learn from, where there are no files"},
    share = {0.1, "of them whose marks are learned"}, supervised = {false, "do without the others"},
    width = {64, "of states; words and letters, filters and cells have their share"}, rate = {0.5, "at its highest"},
    warmup = {100, "updates over which the rate rises"},
    smoke = {steps = 60, count = 600, batch = 16, width = 32, share = 0.3},
}

-- ---- words as numbers ---------------------------------------------------------------------------------
math.randomseed(run.seed)
local train, test = sentences.load(run.data, run.count)
local longest = 18 -- bytes of a word that are looked at

local function plain(text)
    return eg.text((eg.text_normalise(text, {lower = true}):bytes():gsub("%d", "0")))
end

local counts, chunk_counts = eg.word_counts(), eg.word_counts()
for _, sentence in ipairs(train) do
    counts:add(plain(sentence.words))
    chunk_counts:add(sentence.chunks)
end
local words = eg.vocabulary(counts, {reserved = {"<pad>", "<unk>"}, min_count = 2})
local chunks = eg.vocabulary(chunk_counts, {sorted = true})
local chunk_names = {}
for i = 1, chunks:size() do
    chunk_names[i] = chunks:word(i - 1)
end

local function letters_of(text)
    local rows = {}
    for word in text:bytes():gmatch "%S+" do
        table.insert(rows, eg.tensor({word:byte(1, longest)}, "u8"))
    end
    return eg.pad_sequences(rows, {maxlen = longest, pad_after = true})
end

-- A chunk that nobody learned from counts as none.
local function marks_of(text)
    local ids = chunks:encode(text, #chunk_names)
    return ids:masked_fill(ids:ge(#chunk_names), -1)
end

-- Batches of sentences of similar length: words, letters, chunks.
local function batches_of(all, last)
    local samples = eg.data.from(function(i)
        local sentence = all[i + 1]
        return words:encode(plain(sentence.words), 1), letters_of(sentence.words), marks_of(sentence.chunks)
    end, #all)
    return samples:cache():shuffle(#all, {seed = run.seed}):bucket({10, 20, 30, 45}, {
        batch = run.batch, value = {0, 0, -1}, drop_last = not last})
end

local marked = math.ceil(run.share * #train)
local others = not run.supervised and marked < #train
local learned = batches_of(table.move(train, 1, marked, 1, {}), true)
if others then
    learned = eg.data.zip {learned, batches_of(table.move(train, marked + 1, #train, 1, {})):repeated(0)}
end
learned = run:deal(learned)
local judged = batches_of(test, true)
print(("%d sentences with marks, %d without, %d words (%s)"):format(
    marked, others and #train - marked or 0, words:size(), run.data or "of a small grammar"))

-- ---- the net ------------------------------------------------------------------------------------------
-- Two layers of LSTMs there and back, and a head whose views see only a part of the sentence each.
local encoder = eg.models.cvt_encoder(words:size(), 256, {
    word_width = run.width, letter_width = 16, filters = run.width // 2, cells = run.width, deep_cells = run.width,
    width = run.width})
local tagger = eg.models.cvt_tagger(encoder, #chunk_names)
local net = eg.nn.module_list {encoder, tagger}
run:module("net", net)

local function encode(x, letters, dropout)
    local how = {lengths = x:ne(0):sum {axes = {1}}, dropout = dropout}
    return encoder:cvt_encode(x, letters, how), how
end

local function marked_loss(x, letters, right)
    local states, how = encode(x, letters, 0.5)
    return eg.cross_entropy(tagger:cvt_logits(states, how):flatten(0, 1), right:flatten(0, 1),
                            {ignore = true, ignore_index = -1, label_smoothing = 0.1})
end

-- What the whole net takes the words for, its views are to say too.
local function taught(x, letters)
    local states, how = encode(x, letters, 0)
    return tagger:cvt_logits(states, how):softmax(2)
end

local function views_loss(x, letters, right)
    local states, how = encode(x, letters, 0.2)
    return tagger:cvt_views_loss(states, right, how)
end

local function judge()
    local found = eg.metrics()
    net:eval()
    for x, letters, right in judged do
        local said = taught(x:to(run.device), letters:to(run.device)):argmax {axes = {2}}
        found:spans("chunks", said, right:to(run.device), chunk_names, "lenient")
    end
    net:train()
    return found
end

-- ---- learning -----------------------------------------------------------------------------------------
local per_epoch = 0
for _ in learned do
    per_epoch = per_epoch + 1
end
local steps = run.steps > 0 and run.steps or run.epochs * per_epoch
local sgd = eg.optim.sgd(net, {lr = run.rate, momentum = 0.9})
sgd:clip_norm(1)
run:optim("sgd", sgd)
run.saver:dataset("train", learned)
local step = run:resume_step()
local epochs, updates = 0, others and 2 * step or step

local function update(loss)
    sgd:set_rate(run.rate * math.min(1, updates / run.warmup) / (1 + 0.005 * math.sqrt(updates)))
    updates = updates + 1
    return sgd:minimize(loss)
end

while run:goes_on(step, steps) do
    local first = step + 1
    for x, letters, right, text, text_letters in learned do
        step = step + 1
        x, letters, right = x:to(run.device), letters:to(run.device), right:to(run.device)
        local row = {"loss", update(function() return marked_loss(x, letters, right) end)}
        if others then
            text, text_letters = text:to(run.device), text_letters:to(run.device)
            local said = taught(text, text_letters)
            row[3], row[4] = "views", update(function() return views_loss(text, text_letters, said) end)
        end
        run:note(step, table.unpack(row))
        if run:checkpoint(step, step % 1000 == 0) then
            goto stopped
        elseif step == steps then
            break
        end
    end
    epochs = epochs + 1
    local found = judge()
    print(("epoch %d: loss %.4f%s, of sentences not learned from F1 %.2f %%"):format(
        epochs, run:mean("loss", first), others and (", views %.3f"):format(run:mean("views", first)) or "",
        100 * found:value "chunks"))
    run:checkpoint(step, true)
end
::stopped::

-- ---- how good it is -----------------------------------------------------------------------------------
local found = judge()
print(("chunks: precision %.2f %%, recall %.2f %%, F1 %.2f %%"):format(
    100 * found:of("chunks", "precision", -2), 100 * found:of("chunks", "recall", -2), 100 * found:value "chunks"))
run:plot("loss.png", {"loss"}, "Cross entropy per word")
run:check("loss", 0.9)
run:finish()
