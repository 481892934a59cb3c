-- CIFAR-10: a residual net tells ten kinds of small images apart (He, Zhang, Ren, Sun 2015).
--
-- What two convolutions make of their input is added to that input: they learn what is to be changed about it, and
-- gradients find their way past them, so that nets of many layers learn at all.
package.path = (arg[0]:match "^(.*)/" or ".") .. "/?.lua;" .. package.path
local eg = require "egret"
local images = require "images"
local run = require "egret.run" {
    name = "cifar10", unit = "images", about = "Trains a residual net to tell ten kinds of small images apart.",
    data = "folder with CIFAR-10's binary files; without it shapes are drawn",
    epochs = 228, batch = 128, drawn = {5000, "how many images to draw"}, layers = {44, "6 n + 2: 20, 32, 44, 56, 110"},
    lr = {0.1, "learning rate at the start"}, decay = {0.997, "of the statistics of norms"},
    density = {1.0, "share of the weights that stay: from a quarter to half of the steps the smallest others go"},
    plain = {false, "learn from images as they are, neither cut nor mirrored"},
    smoke = {steps = 20, batch = 16, drawn = 80, layers = 8, lr = 0.02, decay = 0.9},
}

-- ---- the images ---------------------------------------------------------------------------------------
-- [3, 32, 32] of -1..1 with their labels. Those to learn from are cut and mirrored by chance, in two threads, so that
-- the net sees none twice.
local train = run:deal(images.learned_from(run.data, run):batch(run.batch, {drop_last = true}):prefetch(4))
local test = images.tested_with(run.data, {drawn = math.max(run.drawn // 5, 50)}):batch(100)
local kinds = images.kinds(run.data)
local per_epoch = train:count()

-- ---- the net ------------------------------------------------------------------------------------------
-- Three stages of blocks: 32 x 32 places of 16 channels, 16 x 16 of 32, 8 x 8 of 64. Their mean gives a score to each
-- kind.
local net = eg.models.resnet_cifar_v1(run.layers, {bn_momentum = 1 - run.decay})
net:init "glorot_uniform"

-- ---- learning -----------------------------------------------------------------------------------------
-- The published rate falls to a tenth and to a hundredth after 28,782 and 43,173 of 80,000 steps: so much of any number
-- of steps. All that learns is drawn towards 0, norms too.
local steps = run.steps > 0 and run.steps or run.epochs * per_epoch
local first = steps * 28782 // 80000 + 1
local second = math.max(steps * 43173 // 80000, first) + 1
local sgd = eg.optim.sgd(net, {lr = run.lr, momentum = 0.9, weight_decay = 2e-4})
sgd:follow {kind = "piecewise", lr = run.lr, at = {first, second}, rates = {0.1 * run.lr, 0.01 * run.lr}}

-- What is small does little: where few weights are to stay, the smallest become zero, more and more of them, and what
-- is left learns to do without. Zeros stay zero.
if run.density < 1 then
    local quarter = math.max(steps // 4, 1)
    local plan = {kind = "polynomial", power = 3, lr = 1, ["end"] = run.density, start = quarter, steps = quarter}
    sgd:prune(plan, {every = math.max(quarter // 100, 1)})
end

run:module("net", net)
run:optim("sgd", sgd)
run.saver:dataset("train", train)
local step = run:resume_step()
print(("%d steps of %d images (%s)"):format(steps, run.batch, run.data or "drawn"))

-- How it does with images it has not learned from. Norms go by what they have seen so far then.
local function examine()
    local found = eg.metrics()
    net:eval()
    for image, label in test do
        image, label = image:to(run.device), label:to(run.device)
        local logits = net(image)
        found:confusion("kinds", logits, label)
        found:mean("loss", eg.cross_entropy(logits, label, {reduction = "none"}))
    end
    net:train()
    return found
end

while run:goes_on(step, steps) do
    for image, label in train do
        step = step + 1
        image, label = image:to(run.device), label:to(run.device)
        local logits
        local loss = sgd:minimize(function()
            logits = net(image)
            return eg.cross_entropy(logits, label)
        end)
        local right = logits:argmax {axes = 1}:eq(label):cast "f32":mean()
        run:note(step, "loss", loss, "accuracy", right, "rate", sgd:rate())
        if step == steps then
            break
        elseif step % per_epoch ~= 0 and run:checkpoint(step, step % (run.smoke and 4 or 200) == 0) then
            goto stopped -- the checkpoint of an epoch's last step comes after the test
        end
    end
    local epoch, found = math.ceil(step / per_epoch), examine()
    local right = found:value "kinds"
    run:note(step, "valid/accuracy", right, "valid/loss", found:value "loss")
    print(("epoch %d: loss %.4f, %.2f %% right; of images not learned from %.2f %%"):format(
        epoch, run:mean("loss", (epoch - 1) * per_epoch + 1), 100 * run:mean("accuracy", (epoch - 1) * per_epoch + 1),
        100 * right))
    run.saver:save_best(step, right)
    run:checkpoint(step, true)
end
::stopped::

if run.density < 1 then
    eg.tensors_save(net:state(), run.out .. "/thin.safetensors", {sparse = true})
    print(("%.1f %% of the weights are left"):format(100 * eg.density(net)))
end

-- ---- what was taken for what --------------------------------------------------------------------------
-- By the best net there was. A row of the map is a kind, and a column what it was taken for. A column of the sheet has
-- images that were all taken for one kind; red frames have those that are another.
run:best("net", net)

local found = examine()
local counts = found:matrix("kinds"):to "cpu":cast "f32"
print(("the best net takes %.2f %% of the images it has not learned from for what they are"):format(
    100 * found:value "kinds"))
net:eval()
run:picture("kinds.png", eg.heatmap, counts / counts:sum {axes = 1, keepdim = true}:clamp(1, math.huge),
            {rows = kinds, columns = kinds, range = {0, 1}, title = "What was taken for what"})
print("columns of the sheet: " .. table.concat(kinds, ", "))
run:picture("images.png", eg.show, images.sheet(net, test, run.device), {columns = 10, range = {0, 1}, scale = 2})

run:plot_epochs("accuracy", per_epoch, "Accuracy")
run:plot_epochs("loss", per_epoch, "Cross entropy")
print("model, pictures and curves are in " .. run.out)
run:check("loss", 0.95, 3)
run:finish()
