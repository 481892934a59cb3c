-- Quick, Draw!: tells from its strokes what a drawing is.
--
-- A drawing is not an image here but what the hand did: how far the pen went from point to point, and where it was
-- lifted. Convolutions look at a few points at a time, an LSTM reads them from both ends.
package.path = (arg[0]:match "^(.*)/" or ".") .. "/?.lua;" .. package.path
local eg = require "egret"
local drawn, reader = require "drawn", require "reader"
local run = require "egret.run" {
    name = "quickdraw", unit = "drawings", about = "Learns to tell from its strokes what a drawing is.",
    data = "folder with what create_dataset makes; without it things are drawn",
    epochs = 10, batch = 8, drawn = {5000, "how many drawings there are to learn from"},
    width = {128, "of the LSTM, each way"}, layers = {3, "of the LSTM"}, lr = {1e-3, "learning rate"},
    smoke = {steps = 60, drawn = 400, width = 16, layers = 1, lr = 1e-2},
}

-- ---- the drawings -------------------------------------------------------------------------------------
-- Records say which class a drawing is of, its ink, and its shape. Batches are as long as their longest drawing.
local names = drawn.names
if run.data then
    names = {}
    for line in io.lines(run.data .. "/training.tfrecord.classes") do
        names[#names + 1] = line
    end
end

local function parse(record)
    local ink, class = eg.example_read(record, {{name = "ink", dtype = "f32", shape = {3}, variable = true},
                                                {name = "class_index", dtype = "i64"}})
    return ink, eg.tensor(#ink), class
end

local function batches(part, count)
    local learned, set = part == "training"
    if run.data then
        set = eg.data.tfrecord(run.data .. "/" .. part .. ".tfrecord-*-of-*",
                               {shuffle_files = learned, seed = run.seed, cycle = 10}):map(parse)
    else
        set = drawn.set(count, learned and 1 or 2):cache()
    end
    set = learned and set:shuffle(100000, {seed = run.seed}) or set
    return set:padded_batch(run.batch, {drop_last = learned})
end

local train, test = run:deal(batches("training", run.drawn)), batches("eval", run.drawn // 5)

-- ---- learning -----------------------------------------------------------------------------------------

local net = reader.new(#names, run.width, run.layers)
local adam = eg.optim.adam(net.all, {lr = run.lr})
adam:clip_norm(9)
run:module("net", net.all)
run:optim("adam", adam)
run.saver:dataset("train", train)

local step = run:resume_step()
local per_epoch = train:count()
if per_epoch < 0 then -- files do not say how much is in them
    per_epoch = 0
    for _ in eg.data.tfrecord(run.data .. "/training.tfrecord-*-of-*") do
        per_epoch = per_epoch + 1
    end
    per_epoch = per_epoch // (run.batch * run.ranks)
end
local steps = run.steps > 0 and run.steps or run.epochs * per_epoch
print(("%d steps of %d drawings of %d things (%s)"):format(steps, run.batch, #names, run.data or "drawn"))

local function examine()
    local found = eg.metrics()
    net.all:eval()
    for ink, lengths, labels in test do
        found:accuracy("right", net:read(ink:to(run.device), lengths:to(run.device)), labels:to(run.device))
    end
    net.all:train()
    return found:value "right"
end

while run:goes_on(step, steps) do
    for ink, lengths, labels in train do
        step = step + 1
        ink, lengths, labels = ink:to(run.device), lengths:to(run.device), labels:to(run.device)
        local logits
        local loss = adam:minimize(function()
            logits = net:read(ink, lengths)
            return eg.cross_entropy(logits, labels)
        end)
        run:note(step, "loss", loss, "accuracy", logits:argmax {axes = 1}:eq(labels):cast "f32":mean())
        if step == steps then
            break
        elseif step % per_epoch ~= 0 and run:checkpoint(step, step % (run.smoke and 10 or 500) == 0) then
            goto stopped -- the checkpoint of an epoch's last step comes after the test
        end
    end
    local epoch, right = math.ceil(step / per_epoch), examine()
    run:note(step, "valid/accuracy", right)
    print(("epoch %d: loss %.4f; %.2f %% of drawings not learned from are right"):format(
        epoch, run:mean("loss", (epoch - 1) * per_epoch + 1), 100 * right))
    run.saver:save_best(step, right)
    run:checkpoint(step, true)
end
::stopped::

-- ---- what was taken for what --------------------------------------------------------------------------
-- draw.lua takes what is saved here, and guesses what one draws in the terminal.
net.all:save(run:path "reader.safetensors")
local setup = io.open(run:path "reader.lua", "w")
setup:write(("return {width = %d, layers = %d, names = {\n"):format(run.width, run.layers))
for _, name in ipairs(names) do
    setup:write(("    %q,\n"):format(name))
end
setup:write "}}\n"
setup:close()

local images = {}
net.all:eval()
for ink, lengths, labels in test do
    local guess = net:read(ink:to(run.device), lengths:to(run.device)):argmax {axes = 1}
    for i = 1, #labels do
        local length = lengths[i]:item()
        images[#images + 1] = drawn.image(ink[{i, {1, length}}], 96)
        print(("%2d: %s"):format(#images, names[guess[i]:item() + 1] ..
                                 (guess[i]:item() == labels[i]:item() and "" or ", but it is " .. names[labels[i]:item() + 1])))
        if #images == 24 then
            break
        end
    end
    if #images == 24 then
        break
    end
end
run:picture("guesses.png", eg.show, images, {columns = 6, range = {0, 1}, scale = 1})
run:plot_epochs("accuracy", per_epoch, "Accuracy")
run:plot("loss.png", {"loss"}, "Cross entropy")
print("model, pictures and curves are in " .. run.out)
run:check("loss", 0.9, 3)
run:finish()
