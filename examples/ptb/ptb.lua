-- A language model: LSTM layers learn which word of a text comes next, and write (Zaremba, Sutskever, Vinyals 2014).
package.path = (arg[0]:match "^(.*)/" or ".") .. "/?.lua;" .. package.path
local eg = require "egret"
local corpus = require "corpus"
local run = require "egret.run" {
    name = "ptb", unit = "sequences", about = "Learns which word of a text comes next, and writes.",
    data = "folder with ptb.train.txt, ptb.valid.txt and ptb.test.txt; without it a grammar makes sentences",
    epochs = 13, batch = 20, sentences = {8000, "to learn from, where there are no files"},
    width = {200, "of words and layers"}, window = {20, "words read before each step"},
    temperature = {1, "of what it writes: below 1 likelier words"},
    smoke = {steps = 150, sentences = 1000, width = 48},
}

-- ---- the text -----------------------------------------------------------------------------------------
-- Twenty parts of it are read side by side, twenty words at a time.
local text = corpus.load(run.data, run.sentences)
local train = eg.data.token_windows(text.train, run.batch, run.window, {rank = run.rank, ranks = run.ranks})
local valid = eg.data.token_windows(text.valid, run.batch, run.window)
local test = eg.data.token_windows(text.test, 1, run.window)
local per_epoch = train:count()
print(("%d words to learn from, %d different ones (%s)"):format(#text.train, text.words:size(),
                                                               run.data or "made by a grammar"))
if text.least then
    print(("knowing the grammar the perplexity of the test would be %.3f"):format(text.least))
end

-- ---- the net ------------------------------------------------------------------------------------------
-- Numbers for words, two LSTM layers, and a logit for each word that may come next.
local net = eg.models.lstm_lm("small", {words = text.words:size(), width = run.width})
run:module("net", net)

-- What a layer remembers goes from window to window. Gradients do not: they end where the window begins.
local function states_of(rows)
    return eg.zeros({2, rows, run.width}):to(run.device), eg.zeros({2, rows, run.width}):to(run.device)
end

local function loss_of(read, y)
    return eg.cross_entropy(read.logits:flatten(0, 1), y:flatten(0, 1))
end

local function perplexity(windows, rows)
    local found, h, c = eg.metrics(), states_of(rows)
    net:eval()
    for x, y in windows do
        local read = net:lstm_lm_forward(x:to(run.device), h, c)
        h, c = read.h, read.c
        found:perplexity("perplexity", loss_of(read, y:to(run.device)), #x * rows)
    end
    net:train()
    return found:value "perplexity"
end

-- ---- writing ------------------------------------------------------------------------------------------
-- A sentence begins where one ended. What comes next is drawn by its probability.
local function write(count)
    local x, written = eg.tensor {{text.words:id "<eos>"}}, {}
    local h, c = states_of(1)
    net:eval()
    for i = 1, count do
        local read = net:lstm_lm_forward(x:to(run.device), h, c)
        h, c = read.h, read.c
        local next = eg.categorical(read.logits:reshape {-1} / run.temperature, 1, {logits = true})
        x, written[i] = next:reshape {1, 1}, next:item()
    end
    net:train()
    return (text.words:decode(eg.tensor(written)):bytes():gsub(" ?<eos> ?", "\n"))
end

-- ---- learning -----------------------------------------------------------------------------------------
-- The cost is the sum over a window's words, of the mean over rows: the rate of 1 and the norm of 5 are made for that.
-- The rate is halved at each epoch behind the fourth.
local steps = run.steps > 0 and run.steps or run.epochs * per_epoch
local sgd = eg.optim.sgd(net, {lr = 1})
sgd:clip_norm(5)
sgd:follow {kind = "step", lr = 1, steps = per_epoch, start = 3 * per_epoch, factor = 0.5}

local h, c = states_of(run.batch)
run:optim("sgd", sgd)
run.saver:dataset("train", train)
run:share_tensor("h", h, 1)
run:share_tensor("c", c, 1)
local step = run:resume_step()
print(("%d windows an epoch"):format(per_epoch))

while run:goes_on(step, steps) do
    for x, y in train do
        step = step + 1
        x, y = x:to(run.device), y:to(run.device)
        local read, loss
        sgd:minimize(function()
            read = net:lstm_lm_forward(x, h, c)
            loss = loss_of(read, y)
            return loss * #x
        end)
        h:copy_(read.h)
        c:copy_(read.c)
        run:note(step, "loss", loss)
        if step == steps then
            break
        elseif step % per_epoch ~= 0 and run:checkpoint(step, step % 1000 == 0) then
            goto stopped -- the checkpoint of an epoch's last step comes after the text
        end
    end
    local epoch = math.ceil(step / per_epoch)
    local learned = math.exp(run:mean("loss", (epoch - 1) * per_epoch + 1))
    print(("epoch %d: perplexity %.3f, of text not learned from %.3f"):format(epoch, learned,
                                                                               perplexity(valid, run.batch)))
    print(write(40))
    h:mul_(0)
    c:mul_(0)
    run:checkpoint(step, true)
end
::stopped::

print(("test perplexity: %.3f"):format(perplexity(test, 1)))
run:plot("loss.png", {"loss"}, "Cross entropy per word")
run:check("loss", 0.8)
run:finish()
