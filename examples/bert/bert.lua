-- BERT learns whether two sentences say the same (Devlin et al. 2018), as its authors' run_classifier.py.
package.path = (arg[0]:match "^(.*)/" or ".") .. "/?.lua;" .. package.path
local eg = require "egret"
local world = require "world"
local run = require "egret.run" {
    name = "bert", unit = "sentence pairs", about = "BERT learns whether two sentences say the same.",
    data = "folder with msr_paraphrase_train.txt, msr_paraphrase_test.txt and vocab.txt; without it pairs about a small world",
    epochs = 3, batch = 32, size = {"tiny", "mini, small, medium, base, large: layers and width"},
    init = {"", "weights to begin with: safetensors, a checkpoint of TensorFlow or PyTorch, of that size"},
    length = {0, "ids of a pair; 0: 128, of the small world 32"}, rate = {0.0, "the highest; 0: 2e-5, of the small world 5e-4"},
    pairs = {4000, "to learn from, where there are no files"}, smoke = {steps = 100, pairs = 1600, batch = 16},
}
local length = run.length > 0 and run.length or run.data and 128 or 32
local rate = run.rate > 0 and run.rate or run.data and 2e-5 or 5e-4

-- ---- pairs of texts -----------------------------------------------------------------------------------
local function read(part)
    local texts, labels = {}, {}
    for a, b, label in eg.data.glue(("%s/msr_paraphrase_%s.txt"):format(run.data, part), "mrpc") do
        table.insert(texts, a:copy())
        table.insert(texts, b:copy())
        table.insert(labels, label:item())
    end
    return texts, labels
end

local function make(count)
    local texts, labels = {}, {}
    for i = 1, count do
        local a, b, label = world.pair(math.random)
        texts[2 * i - 1], texts[2 * i], labels[i] = eg.text(a), eg.text(b), label
    end
    return texts, labels
end

math.randomseed(run.seed)
local words
if run.data then
    words = eg.tokenizer_load(run.data .. "/vocab.txt")
else
    local counts = eg.word_counts()
    counts:add(eg.text(table.concat(world.words(), " ")))
    words = eg.wordpiece(eg.vocabulary(counts, {reserved = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}}))
end

local function dataset_of(texts, labels)
    local x = words:encode_batch(texts, {pairs = true, max_length = length, pad_to = length})
    return eg.data.from_tensors {x.ids, x.types, x.mask, eg.tensor(labels, "i64")}
end

local texts, labels = (run.data and read or make)(run.data and "train" or run.pairs)
local others, right = (run.data and read or make)(run.data and "test" or run.smoke and 64 or 500)
local learned = run:deal(dataset_of(texts, labels):shuffle(#labels, {seed = run.seed})
    :batch(run.batch, {drop_last = true}))
local judged = dataset_of(others, right):batch(32)
print(("%d pairs to learn from, %d to be judged by (%s)"):format(#labels, #right, run.data or "a small world"))

-- ---- the net ------------------------------------------------------------------------------------------
local bert = eg.models.bert(run.size, {vocabulary = words:size()})
local net = eg.models.bert_classifier(bert, 2)
run:module("net", net)
if run.init ~= "" then
    local weights = eg.tensors_open(run.init):renamed(eg.bert_names())
    net:load_state(weights, {allow_missing = true, allow_unexpected = true, skip_shape = true})
end

local function logits_of(ids, types, mask)
    return net:bert_forward(ids:to(run.device), {types = types:to(run.device), mask = mask:to(run.device)}).logits
end

local function judge()
    local found = eg.metrics()
    net:eval()
    for ids, types, mask, label in judged do
        found:confusion("accuracy", logits_of(ids, types, mask), label:to(run.device))
    end
    net:train()
    return found:value "accuracy", found:of("accuracy", "f1", 1)
end

-- ---- learning -----------------------------------------------------------------------------------------
local steps = run.steps > 0 and run.steps or run.epochs * (#labels // (run.batch * run.ranks))
local adam = eg.optim.adam(net, {lr = rate, eps = 1e-6, weight_decay = 0.01, decoupled = true, no_bias_correction = true})
adam:group {max_axes = 1} -- biases and norms do not decay
adam:clip_norm(1)
adam:follow {kind = "polynomial", lr = rate, steps = steps, warm_up = steps // 10, warm_up_kind = "over"}
run:optim("adam", adam)
run.saver:dataset("train", learned)
local step = run:resume_step()
local epochs = 0

while run:goes_on(step, steps) do
    local first = step + 1
    for ids, types, mask, label in learned do
        step = step + 1
        local loss = adam:minimize(function() return eg.cross_entropy(logits_of(ids, types, mask), label:to(run.device)) end)
        run:note(step, "loss", loss)
        if run:checkpoint(step, step % 1000 == 0) then
            goto stopped
        elseif step == steps then
            break
        end
    end
    epochs = epochs + 1
    local accuracy, f1 = judge()
    print(("epoch %d: loss %.4f, of pairs not learned from %.2f %% right, F1 %.2f %%"):format(
        epochs, run:mean("loss", first), 100 * accuracy, 100 * f1))
    run:checkpoint(step, true)
end
::stopped::
run:plot("loss.png", {"loss"}, "Cross entropy per pair")
run:check("loss", 0.9)
run:finish()
