-- A translator by attention alone (Vaswani et al. 2017), as TensorFlow's official/transformer.
package.path = (arg[0]:match "^(.*)/" or ".") .. "/?.lua;" .. package.path
local eg = require "egret"
local numbers = require "numbers"
local run = require "egret.run" {
    name = "transformer", about = "Learns to translate by attention alone.",
    data = "folder with train.en, train.de, val.en and so on, plain or .gz; without it numbers in words",
    epochs = 10, pairs = {20000, "to learn from, where there are no files"}, tokens = {2048, "of a batch and each language"},
    width = {256, "of subtokens and layers"}, layers = {3, "of each side"}, warmup = {1000, "steps"},
    vocabulary = {0, "subtokens, about; 0: 8192, of numbers 200"}, rate = {1, "times width^-0.5 min(t^-0.5, ...)"},
    smoke = {steps = 80, pairs = 1000, tokens = 512, width = 32, layers = 2, warmup = 30, rate = 0.3},
}

-- ---- texts --------------------------------------------------------------------------------------------
local function read(name)
    local sides = {}
    for side, language in ipairs {"en", "de"} do
        sides[side] = {}
        for line in eg.data.text_lines(("%s/%s*.%s*"):format(run.data, name, language)) do
            table.insert(sides[side], line:copy())
        end
    end
    assert(#sides[1] == #sides[2], name .. ": one language has more lines than the other")
    return sides
end

local order = not run.data and eg.permutation(1000000)
local function make(first, count)
    local sides = {{}, {}}
    for i = first + 1, first + count do
        local n = order[i]:item()
        table.insert(sides[1], eg.text(numbers.english(n)))
        table.insert(sides[2], eg.text(numbers.german(n)))
    end
    return sides
end

local train = run.data and read "train" or make(400, run.pairs)
local valid = run.data and read "val" or make(0, 200)
local test = run.data and read "test" or make(200, 200)

-- ---- subtokens, and batches of pairs of similar length --------------------------------------------------
local size = run.vocabulary > 0 and run.vocabulary or run.data and 8192 or 200
local all = {}
for i, text in ipairs(train[1]) do
    all[2 * i - 1], all[2 * i] = text, train[2][i]
end
local words = eg.subtokens_train(all, {vocabulary = size})
words:frame "$A <EOS>"
words:save(run:path "subtokens.txt")

local function pairs_of(texts)
    return eg.data.from(function(i)
        return words:encode(texts[1][i + 1]).ids, words:encode(texts[2][i + 1]).ids
    end, #texts[1])
end

local below, batches, tokens = {}, {}, run.tokens // run.ranks
local x = 8
while x < 256 do
    table.insert(below, x)
    table.insert(batches, math.max(1, tokens // x))
    x = x < 20 and x + 1 or x * 11 // 10
end
table.insert(batches, math.max(1, tokens // 257))

-- The few pairs that are left over at the end of a pass would undo what the rest has taught.
local function batches_of(dataset, all)
    return dataset:bucket(below, {batches = batches, longest = true, drop_last = not all})
end
local learned = run:deal(batches_of(pairs_of(train):shuffle(#train[1], {seed = run.seed}), false))
local judged = batches_of(pairs_of(valid), true)
print(("%d pairs to learn from, %d to be judged by, %d subtokens (%s)"):format(#train[1], #valid[1], words:size(),
                                                                              run.data or "numbers in words"))

-- ---- the net ------------------------------------------------------------------------------------------
local net = eg.models.transformer("base", {vocabulary = words:size(), width = run.width, heads = 4,
                                           hidden = 4 * run.width, layers = run.layers})
run:module("net", net)

-- A tenth of the probability is for the other subtokens, all together. eg.cross_entropy gives the right one a share too.
local function loss_of(source, target, smoothing)
    local logits = net:transformer_forward(source, target)
    local n = words:size()
    return eg.cross_entropy(logits:flatten(0, 1), target:flatten(0, 1),
                            {ignore = true, label_smoothing = smoothing * n / (n - 1)})
end

local function judge()
    local found = eg.metrics()
    net:eval()
    for source, target in judged do
        source, target = source:to(run.device), target:to(run.device)
        found:perplexity("perplexity", loss_of(source, target, 0), target:ne(0):sum():item())
    end
    net:train()
    return math.log(found:value "perplexity")
end

local function translate(text)
    net:eval()
    local ids = words:encode(text).ids:unsqueeze(0):to(run.device)
    local cache = eg.nn.cache()
    net:transformer_read(ids, cache)
    local best = eg.beam_search(function(next, kept) return eg.transformer_next(net, next, kept) end,
                                eg.zeros({1, 1}, "i64"):to(run.device),
                                {cache = cache, ["end"] = 1, steps = ids:shape()[2] + 50, beams = 4, length_power = 0.6})
    net:train()
    local said = best.ids[1][1]:to "cpu"
    local n = best.lengths[1][1]:item()
    return words:decode(said:slice(0, 0, n - (said[n]:item() == 1 and 1 or 0), 1)):bytes() -- without the end
end

-- ---- learning -----------------------------------------------------------------------------------------
local adam = eg.optim.adam(net, {lr = run.rate, beta1 = 0.9, beta2 = 0.997, eps = 1e-9, epsilon_outside = true,
                                 lazy = true})
adam:follow {kind = "inverse_sqrt", lr = run.rate, steps = run.warmup, start = -1, width = run.width}
run:optim("adam", adam)
run.saver:dataset("train", learned)
local step = run:resume_step()
local epochs = 0
local steps = run.steps > 0 and run.steps or math.maxinteger

while run:goes_on(step, (run.steps > 0 or epochs < run.epochs) and steps or step) do
    local first = step + 1
    for source, target in learned do
        step = step + 1
        source, target = source:to(run.device), target:to(run.device)
        local loss = adam:minimize(function() return loss_of(source, target, 0.1) end)
        run:note(step, "loss", loss)
        if run:checkpoint(step, step % 1000 == 0) then
            goto stopped
        elseif step == steps then
            break
        end
    end
    epochs = epochs + 1
    print(("epoch %d: loss %.4f, of pairs not learned from %.4f"):format(epochs, run:mean("loss", first), judge()))
    for i = 1, 2 do
        print(("  %s -> %s"):format(valid[1][i]:bytes(), translate(valid[1][i])))
    end
    run:checkpoint(step, true)
end
::stopped::

-- ---- how good it is -----------------------------------------------------------------------------------
local found = eg.metrics()
for i = 1, run.smoke and 3 or #test[1] do
    found:bleu("bleu", translate(test[1][i]), {test[2][i]:bytes()}, {tokens = "transformer", lower = true})
end
print(("BLEU of the test: %.2f"):format(found:value "bleu"))
local read, made = words:encode(test[1][1]).ids, words:encode(eg.text(translate(test[1][1]))).ids
local look = net:eval():transformer_look(read:unsqueeze(0):to(run.device), made:unsqueeze(0):to(run.device))
local function names_of(ids)
    local names = {}
    for i = 1, #ids do
        names[i] = words:token(ids[i]:item())
    end
    return names
end
local head = look.between[-1][1][1]:to "cpu" -- of the last layer the first
run:picture("attention.png", eg.heatmap, head, {rows = names_of(made), columns = names_of(read), range = {0, 1}})
run:plot("loss.png", {"loss"}, "Loss per subtoken")
run:check("loss", 0.8)
run:finish()
