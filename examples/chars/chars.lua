-- Learns a text letter by letter, and writes more of it: the shortest language model that still delights.
local eg = require "egret"
local run = require "egret.run" {
    name = "chars", unit = "sequences", about = "Learns a text letter by letter, and writes more of it.",
    data = "any text file; without it somebody counts", epochs = 4, batch = 32, units = {192, "of the GRU"},
    temperature = {0.7, "below 1 it writes what is likelier"}, smoke = {steps = 70},
}
local WINDOW, steps = 64, run.steps > 0 and run.steps or 256 * run.epochs

-- ---- the text: a file, or somebody counting -------------------------------------------------------------
local ones = {"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
              "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", [0] = "zero"}
local tens = {"ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}
local function spell(n)
    return ones[n] or tens[n // 10] .. (n % 10 > 0 and "-" .. ones[n % 10] or "")
end

local function count()
    local lines = {}
    for i = 1, 5000 do
        local begin, words = eg.randint({}, 0, 93, "i64"):item(), {}
        for k = 0, 7 do
            words[k + 1] = spell(begin + k)
        end
        lines[i] = table.concat(words, ", ") .. "\n"
    end
    return table.concat(lines)
end

local function read(path)
    local file <close> = assert(io.open(path, "rb"))
    return file:read "a"
end

local text = eg.text(run.data and read(run.data) or count()):to(run.device)
assert(#text > WINDOW, ("a text of %d letters, at least %d are needed"):format(#text, WINDOW + 1))

-- ---- the net --------------------------------------------------------------------------------------------
local net = eg.nn.sequential {eg.nn.embedding(256, 64), eg.nn.gru(64, run.units), eg.nn.linear(run.units, 256)}
run:module("net", net)

-- At each letter of windows from anywhere in the text, side by side: what comes next?
local steps_in = eg.arange(0, WINDOW, 1, "i64"):reshape {WINDOW, 1}:to(run.device)
local function loss_of()
    local at = (eg.randint({1, run.batch}, 0, #text - WINDOW, "i64"):to(run.device) + steps_in):flatten(0, 1)
    local logits = net(text:index_select(0, at):reshape {WINDOW, run.batch})
    return eg.cross_entropy(logits:flatten(0, 1), text:index_select(0, at + 1))
end

-- Letter after letter, each drawn by its probability to follow those before.
local function write(count)
    local written = {10}
    for n = 1, count do
        local seen = eg.tensor({table.unpack(written, math.max(1, n - WINDOW + 1))}, "u8"):reshape {-1, 1}
        local logits = net(seen:to(run.device))[-1]:reshape {-1}
        written[n + 1] = eg.categorical(logits / run.temperature, 1, {logits = true}):item()
    end
    local said = string.char(table.unpack(written))
    return (said:gsub("[^\n\x20-\x7e]", "?"))
end

-- ---- learning -------------------------------------------------------------------------------------------
local adam = eg.optim.adam(net, {lr = 0.006})
run:optim("adam", adam)
local step = run:resume_step()
while run:goes_on(step, steps) do
    step = step + 1
    run:note(step, "loss", adam:minimize(loss_of))
    if step >= 16 and step & (step - 1) == 0 then -- 16, 32, 64, ...
        print(("after %d steps it writes%s\n"):format(step, write(200)))
    end
    run:checkpoint(step, step % 200 == 0)
end
run:checkpoint(step, true)
run:plot("loss.png", {"loss"}, "Cross entropy per letter")
run:check("loss", 0.5)
run:finish()
