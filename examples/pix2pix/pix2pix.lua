-- pix2pix: plans of house fronts become photos (Isola, Zhu, Zhou, Efros 2016).
--
-- A generator draws a photo of a plan, a critic learns to tell drawn photos from real ones patch by patch, and the
-- generator learns both from the critic and from the photo it should have drawn.
local here = arg[0]:match "^(.*)/" or "."
package.path = here .. "/?.lua;" .. package.path
local eg = require "egret"
local pairs = require "pairs"
local run = require "egret.run" {
    name = "pix2pix", unit = "images", about = "Learns to turn plans of house fronts into photos.",
    data = "folder with the folders train and val of pictures: photo left, plan right; without it pairs are drawn",
    epochs = 200, batch = 1, drawn = {400, "how many pairs to draw"}, lr = {2e-4, "learning rate of both nets"},
    width = {64, "channels of the first layers of both nets"},
    smoke = {steps = 9, drawn = 3, width = 16, lr = 1e-3},
}

-- ---- plans and photos ---------------------------------------------------------------------------------
-- Pairs of images, [3, 256, 256] of -1..1 each. Those to learn from are made a little larger, cut to size and
-- mirrored by chance, so that no epoch is like another. Two threads make them.
local train = run:deal(pairs.learned_from(run.data, {drawn = run.drawn, seed = run.seed})
    :batch(run.batch, {drop_last = true}):prefetch(2))
local test = pairs.tested_with(run.data, {drawn = run.smoke and 2 or 10, seed = run.seed}):batch(1)

-- ---- the generator ------------------------------------------------------------------------------------
-- A U-Net: eight steps down to a single cell, eight up again; each step up but the last joins what the way down
-- had at its size.
local function norm(channels)
    return eg.nn.batch_norm(channels, {momentum = 0.01, eps = 1e-3})
end

local function down(channels, features, normed)
    return eg.nn.sequential {
        eg.nn.conv2d(channels, features, {kernel = 4, stride = 2, padding = eg.SAME, no_bias = true}),
        normed and norm(features) or eg.nn.identity(), eg.nn.leaky_relu(0.2),
    }
end

local function up(channels, features, dropped)
    return eg.nn.sequential {
        eg.nn.conv_transpose2d(channels, features, {kernel = 4, stride = 2, padding = eg.SAME, no_bias = true}),
        norm(features), dropped and eg.nn.dropout(0.5) or eg.nn.identity(), eg.nn.activation(eg.relu),
    }
end

local w = run.width
local generator = eg.module {
    down = eg.nn.module_list {
        down(3, w), down(w, 2 * w, true), down(2 * w, 4 * w, true), down(4 * w, 8 * w, true),
        down(8 * w, 8 * w, true), down(8 * w, 8 * w, true), down(8 * w, 8 * w, true), down(8 * w, 8 * w, true),
    },
    up = eg.nn.module_list {
        up(8 * w, 8 * w, true), up(16 * w, 8 * w, true), up(16 * w, 8 * w, true), up(16 * w, 8 * w),
        up(16 * w, 4 * w), up(8 * w, 2 * w), up(4 * w, w),
        eg.nn.conv_transpose2d(2 * w, 3, {kernel = 4, stride = 2, padding = eg.SAME}),
    },
    forward = function(self, x)
        local seen = {}
        for i = 0, 7 do
            x = self.down:at(i)(x)
            seen[i] = x
        end
        for i = 0, 6 do
            x = eg.concat({self.up:at(i)(x), seen[6 - i]}, 1)
        end
        return self.up:at(7)(x):tanh()
    end,
}

-- The critic sees a plan and a photo and gives a number to each of 30 x 30 patches, large for what looks real.
local discriminator = eg.nn.sequential {
    down(6, w), down(w, 2 * w, true), down(2 * w, 4 * w, true),
    eg.nn.conv2d(4 * w, 8 * w, {kernel = 4, padding = 1, no_bias = true}), norm(8 * w), eg.nn.leaky_relu(0.2),
    eg.nn.conv2d(8 * w, 1, {kernel = 4, padding = 1}),
}

generator:init("normal", {std = 0.02})
discriminator:init("normal", {std = 0.02})

-- ---- learning -----------------------------------------------------------------------------------------
-- Both losses come from one forward; the generator's adds 100 times the mean distance from the photo.
local rule = {lr = run.lr, beta1 = 0.5, epsilon_outside = true}
local adam = {generator = eg.optim.adam(generator, rule), discriminator = eg.optim.adam(discriminator, rule)}

local function says_real(logits) return eg.bce_with_logits(logits, eg.ones_like(logits)) end
local function says_made(logits) return eg.bce_with_logits(logits, eg.zeros_like(logits)) end

local function learn(plan, photo)
    local tape <close> = eg.tape {persistent = true}
    local made = generator(plan)
    local of_real = discriminator(eg.concat({plan, photo}, 1))
    local of_made = discriminator(eg.concat({plan, made}, 1))
    local distance = eg.l1_loss(photo, made)
    local drawing = says_real(of_made) + distance * 100
    local judging = says_real(of_real) + says_made(of_made)
    adam.generator:minimize(tape, drawing)
    adam.discriminator:minimize(tape, judging)
    return drawing, judging, distance
end

-- Plan, photo and what is made of the plan side by side. The net stays in training mode, as it was published: then
-- dropout is the noise by which it makes different pictures of one plan.
local function show(plan, photo, name)
    local made = generator(plan:to(run.device)):to "cpu"
    run:picture(name, eg.show, eg.concat({plan, photo, made}, 0), {columns = 3, range = {-1, 1}, scale = 1})
    return eg.l1_loss(photo, made):item()
end

run:module("generator", generator)
run:module("discriminator", discriminator)
run:optim("generator-adam", adam.generator)
run:optim("discriminator-adam", adam.discriminator)
run.saver:dataset("train", train)

local step, per_epoch = run:resume_step(), train:count()
local steps, every = run.steps > 0 and run.steps or run.epochs * per_epoch, run.smoke and 5 or 200
print(("%d steps of %d pairs (%s)"):format(steps, run.batch, run.data or "drawn"))

while run:goes_on(step, steps) do
    for plan, photo in train do
        step = step + 1
        local drawing, judging, distance = learn(plan:to(run.device), photo:to(run.device))
        run:note(step, "generator", drawing, "discriminator", judging, "distance", distance)
        if step == steps then
            break
        elseif step % per_epoch ~= 0 and run:checkpoint(step, step % every == 0) then
            goto stopped -- the checkpoint of an epoch's last step comes after the picture, which draws noise
        end
    end
    local epoch = math.ceil(step / per_epoch)
    local distance = run:mean("distance", (epoch - 1) * per_epoch + 1)
    print(("epoch %d: distance from the photos %.4f"):format(epoch, distance))
    for plan, photo in test do
        show(plan, photo, ("epoch-%04d.png"):format(epoch))
        break
    end
    run:checkpoint(step, step % every == 0 or step == steps)
end
::stopped::

-- ---- what came out ------------------------------------------------------------------------------------

local sum, seen = 0, 0
for plan, photo in test do
    seen = seen + 1
    sum = sum + show(plan, photo, ("test-%04d.png"):format(seen))
end
generator:save(run:path "generator.safetensors")
run:plot("losses.png", {"generator", "discriminator"}, "Losses")
run:plot("distance.png", {"distance"}, "Distance from the photo")
print(("%d test pairs: distance %.4f; model, pictures and curve are in %s"):format(seen, sum / seen, run.out))
run:check("distance", 0.9, 3)
run:finish()
