-- Segmentation: a U-Net says of each pixel whether it belongs to what is looked for (Ronneberger, Fischer, Brox 2015).
--
-- The net goes down to a few places that see much of the image, and up again to all its pixels; on the way up it is
-- reminded of what it saw on the way down, so that it knows both what something is and where it ends.
package.path = (arg[0]:match "^(.*)/" or ".") .. "/?.lua;" .. package.path
local eg = require "egret"
local pairs = require "pairs"
local run = require "egret.run" {
    name = "segmentation", unit = "images", about = "Trains a U-Net to say where in an image something is.",
    data = "folder with train/*.jpg and train_masks/*_mask.gif, or train/image/*.png and train/label/*.png; without " ..
        "it pairs are drawn",
    epochs = 5, batch = 3, drawn = {100, "how many pairs to draw"}, side = {256, "of the images, a multiple of 32"},
    width = {1.0, "channels, as a share of the published 32 to 1024"}, lr = {1e-3, "learning rate"},
    decay = {0.99, "of the statistics of norms"},
    smoke = {steps = 20, drawn = 15, side = 32, width = 0.125, decay = 0.9, lr = 3e-3},
}
assert(run.side % 32 == 0, "--side is a multiple of 32")

-- ---- images and masks ---------------------------------------------------------------------------------
-- [3, side, side] and [1, side, side] of 0..1. Those to learn from are mirrored and moved by chance, both alike; the
-- hue of the image changes too.
local all = pairs.open(run.data, run)
local train = run:deal(all:learned_from():batch(run.batch):prefetch(4))
local test = all:tested_with():batch(run.batch)

-- ---- the net ------------------------------------------------------------------------------------------
-- Five times down to half the side and twice the channels, and up again. It gives a logit for each pixel.
local net = eg.models.unet {width = run.width, bn_momentum = 1 - run.decay}

-- ---- the loss -----------------------------------------------------------------------------------------
-- Cross entropy asks each pixel alone. Dice, twice what both masks share over what they have together, asks for the
-- whole: it does not let a large ground hide a small thing.
local function loss_of(logits, mask)
    local p = logits:sigmoid()
    local dice = ((p * mask):sum() * 2 + 1) / (p:sum() + mask:sum() + 1)
    return eg.bce_with_logits(logits, mask) + 1 - dice, dice
end

-- ---- learning -----------------------------------------------------------------------------------------

local adam = eg.optim.adam(net, {lr = run.lr, eps = 1e-7, epsilon_outside = true})
run:module("net", net)
run:optim("adam", adam)
run.saver:dataset("train", train)

local step, per_epoch = run:resume_step(), train:count()
local steps = run.steps > 0 and run.steps or run.epochs * per_epoch
print(("%d steps of %d pairs (%s)"):format(steps, run.batch, run.data or "drawn"))

-- How it does with images it has not learned from: dice over all of them as one, and the mean of their losses.
local function examine()
    local found = eg.metrics()
    net:eval()
    for image, mask in test do
        mask = mask:to(run.device)
        local logits = net(image:to(run.device))
        found:dice("dice", logits:sigmoid(), mask)
        found:mean("loss", (loss_of(logits, mask)))
    end
    net:train()
    return found:value "dice", found:value "loss"
end

while run:goes_on(step, steps) do
    for image, mask in train do
        step = step + 1
        image, mask = image:to(run.device), mask:to(run.device)
        local dice
        local loss = adam:minimize(function()
            local sum
            sum, dice = loss_of(net(image), mask)
            return sum
        end)
        run:note(step, "loss", loss, "dice", dice)
        if step == steps then
            break
        elseif step % per_epoch ~= 0 and run:checkpoint(step, step % (run.smoke and 3 or 200) == 0) then
            goto stopped -- the checkpoint of an epoch's last step comes after the test
        end
    end
    local epoch, dice, loss = math.ceil(step / per_epoch), examine()
    run:note(step, "valid/dice", dice, "valid/loss", loss)
    print(("epoch %d: dice %.4f, of pairs not learned from %.4f"):format(
        epoch, run:mean("dice", (epoch - 1) * per_epoch + 1), dice))
    run.saver:save_best(step, dice)
    run:checkpoint(step, true)
end
::stopped::

-- ---- what it found ------------------------------------------------------------------------------------
-- With the best weights there were: an image, its mask, what the net finds, and that laid over the image.
run:best("net", net)
print(("the best net's dice is %.4f on images it has not learned from"):format((examine())))

local red, rows = eg.tensor({1, 0.25, 0.125}, "f32"):reshape {3, 1, 1}, {}
net:eval()
for images, masks in test do
    local found = net(images:to(run.device)):sigmoid():to "cpu"
    for i = 1, math.min(#images, 5 - #rows // 4) do
        local over = images[i] + found[i] * 0.6 * (red - images[i])
        for _, cell in ipairs {images[i], masks[i], found[i], over} do
            rows[#rows + 1] = cell:expand {3, -1, -1}
        end
    end
    if #rows == 20 then
        break
    end
end
run:picture("found.png", eg.show, rows, {columns = 4, range = {0, 1}, scale = math.max(192 // run.side, 1)})

run:plot_epochs("dice", per_epoch, "Dice")
run:plot_epochs("loss", per_epoch, "Cross entropy and dice loss")
print("model, pictures and curves are in " .. run.out)
run:check("loss", 0.95, 3)
run:finish()
