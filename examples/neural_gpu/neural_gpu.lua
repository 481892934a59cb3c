-- Neural GPU: learns an algorithm from examples of what it makes (Kaiser and Sutskever 2015).
--
-- The tape is a row of cells that all change at once, each by what is around it, as often as the tape is long. What is
-- learned on short tapes is run on longer ones.
package.path = (arg[0]:match "^(.*)/" or ".") .. "/?.lua;" .. package.path
local eg = require "egret"
local tasks = require "tasks"
local run = require "egret.run" {
    name = "neural_gpu", unit = "sequences",
    about = "Learns an algorithm from examples of what it makes, and runs it on longer ones.",
    task = {"rev", "add, badd, sort, id, rev, incr or dup"}, steps = {8000, "in all"}, batch = 32,
    digits = {20, "of the longest tapes it learns from"}, test = {60, "and of those it is examined with"},
    maps = {24, "numbers of a cell"}, height = {4, "rows of cells"}, lr = {3e-3, "learning rate"},
    dropout = {0.02, "of cells, times 3 / sqrt(length)"}, enough = {0.3, "share of wrong tapes below which they grow"},
    smoke = {steps = 60, maps = 8, digits = 4, test = 6, batch = 16, lr = 5e-3},
}
local task = assert(tasks[run.task], "no task is called " .. run.task)
math.randomseed(run.seed)

-- ---- the net ------------------------------------------------------------------------------------------
-- A convolutional GRU: s' = u s + (1 - u) tanh(U * (r s)). Its gates are sigmoids that reach 0 and 1, so that a cell can
-- stay exactly as it is.
local function cut_sigmoid(x) return (x:sigmoid() * 1.2 - 0.1):clamp(0, 1) end

local function gru()
    local gates = eg.nn.conv2d(run.maps, 2 * run.maps, {kernel = 3, padding = eg.SAME})
    local candidate = eg.nn.conv2d(run.maps, run.maps, {kernel = 3, padding = eg.SAME})
    local bound = (1 / (3 * run.maps)) ^ 0.5
    for _, conv in ipairs {gates, candidate} do
        conv:init("uniform", {low = -bound, high = bound})
    end
    gates:parameters()[2][{}] = 1 -- nothing changes at first
    return eg.nn.module_list {gates, candidate}, function(s)
        local u, r = table.unpack(cut_sigmoid(gates(s)):chunk(2, 1))
        local c = candidate(r * s):tanh()
        return c + u * (s - c)
    end
end

local first, go_first = gru()
local second, go_second = gru()
local embedding, out = eg.nn.embedding(tasks.symbols, run.maps), eg.nn.linear(run.maps, tasks.symbols)
local net = eg.nn.module_list {embedding, first, second, out}
local learning = false

--- Logits [N, length, symbols] of tapes [N, length]; and the states, if a list is given for them.
local function calculate(tape, states)
    local length = tape:shape()[2]
    local s = embedding(tape):tanh():transpose(1, 2):unsqueeze(3)
    s = s:pad {after = {0, 0, 0, run.height - 1}} -- the tape lies in the first row
    for _ = 1, length do
        if states then
            states[#states + 1] = s
        end
        s = go_second(go_first(s))
        s = s:dropout(math.min(0.5, run.dropout * 3 / length ^ 0.5), learning)
    end
    return out(s:select(3, 0):transpose(1, 2))
end

local function wrong(logits, to)
    return logits:argmax {axes = 2}:ne(to):any {axes = 1}:cast "f32":mean():item()
end

-- ---- learning -----------------------------------------------------------------------------------------
-- Half of the tapes are as long as it has come, the others shorter. As soon as enough of the longest are right, there
-- are longer ones.
local adam = eg.optim.adam(net, {lr = run.lr, eps = 1e-3})
adam:clip_norm(4)
run:module("net", net)
run:optim("adam", adam)
local state = eg.zeros({4}, "f64") -- digits so far, wrong ones, and the two halves of the seed of tapes
run.saver:tensor("state", state)
state[1], state[2] = math.min(3, run.digits), 1

local step = run:resume_step()
local digits, share = state[1]:item() // 1 | 0, state[2]:item()
learning = true
print(("%s, %d steps"):format(run.task, run.steps))
while run:goes_on(step, run.steps) do
    step = step + 1
    math.randomseed(run.seed, step) -- so that a run that goes on sees what it would have seen
    local n = math.random() < 0.5 and digits or math.random(1, digits)
    local from, to = run:rows(tasks.batch(task, run.batch * run.ranks, n))
    from, to = from:to(run.device), to:to(run.device)
    local logits
    local loss = adam:minimize(function()
        logits = calculate(from)
        return eg.cross_entropy(logits:flatten(0, 1), to:flatten(0, 1), {label_smoothing = 0.1})
    end)
    if n == digits then
        share = share + 0.1 * (run:over_ranks(wrong(logits, to)) - share)
        if share < run.enough and digits < run.digits then
            digits, share = digits + 1, math.min(1, 2 * run.enough)
        end
    end
    state[1], state[2] = digits, share
    run:note(step, "loss", loss, "digits", digits)
    if step % 500 == 0 then
        print(("step %d: %d digits, loss %.4f, %.1f %% of the longest tapes wrong"):format(
            step, digits, run:mean("loss", -500), 100 * share))
    end
    if step % 2000 == 0 then
        adam:set_rate(adam:rate() * 0.5)
    end
    run:checkpoint(step, step == run.steps or step % (run.smoke and 10 or 500) == 0)
end

-- ---- what was learned ---------------------------------------------------------------------------------
-- Tapes of lengths it has never seen, too.
learning = false
math.randomseed(run.seed, 0)
local lengths, right = {}, {}
for n = 1, run.test, math.max(run.test // 12, 1) do
    local from, to = tasks.batch(task, 64, n)
    lengths[#lengths + 1], right[#right + 1] = n, 1 - wrong(calculate(from:to(run.device)), to:to(run.device))
    print(("%4d digits: %6.2f %% right"):format(n, 100 * right[#right]))
end
run:picture("right.png", eg.plot, right, {title = "Tapes that are wholly right", xlabel = "digits", x = lengths})

local from = tasks.batch(task, 1, math.min(12, digits))
local states, rows = {}, {}
calculate(from:to(run.device), states)
for i, s in ipairs(states) do
    rows[i] = s[1]:select(2, 0):unsqueeze(0):to "cpu" -- its first row: maps downwards
end
run:picture("states.png", eg.show, eg.stack(rows, 0), {columns = 5, range = {-1, 1}, scale = 6})
run:plot("loss.png", {"loss"}, "Cross entropy")
run:plot("digits.png", {"digits"}, "Digits of the longest tapes")
print("pictures and curves are in " .. run.out)
run:check("loss", 0.95, 3)
run:finish()
