-- DCGAN: two nets play a game until one of them can write digits (Radford, Metz, Chintala 2015).
--
-- The generator makes images out of noise, the discriminator learns to tell them from real ones, and the generator
-- learns from what gives it away.
package.path = (arg[0]:match "^(.*)/" or ".") .. "/../common/?.lua;" .. package.path
local eg = require "egret"
local glyphs = require "glyphs"
local run = require "egret.run" {
    name = "dcgan", unit = "images", about = "Lets two nets play until one of them writes digits.",
    data = "folder with the MNIST files, plain or .gz; without it digits are drawn",
    epochs = 20, batch = 256, drawn = {20000, "how many digits to draw"},
    lr = {1e-4, "learning rate of both players"},
    smoke = {steps = 20, batch = 32, drawn = 2000},
}

-- ---- the digits ---------------------------------------------------------------------------------------
-- Of -1..1, as the generator's tanh has it. Their labels are of no use here.
local digits
if run.data then
    digits = eg.data.mnist(run.data, "train"):map(function(image) return image * 2 - 1 end)
else
    digits = eg.data.from_tensors {(glyphs.digits(run.drawn)) * 2 - 1}
end
digits = run:deal(digits:shuffle(60000, {seed = run.seed}):batch(run.batch):prefetch(4))

-- ---- the players --------------------------------------------------------------------------------------
-- The generator begins with 100 numbers of chance and a picture of 7 x 7 with 64 channels; transposed convolutions
-- of stride 2 make it twice as wide and high, twice.
local noise_size = 100

local function norm(features, biased)
    return eg.nn.batch_norm(features, {momentum = 0.01, eps = 1e-3, biased = biased})
end

local function widen(channels, features, stride)
    return eg.nn.conv_transpose2d(channels, features, {kernel = 5, stride = stride, padding = eg.SAME, no_bias = true})
end

local generator = eg.nn.sequential {
    eg.nn.linear(noise_size, 7 * 7 * 64, {no_bias = true}), norm(7 * 7 * 64, true), eg.nn.activation(eg.relu),
    eg.nn.unflatten {64, 7, 7},
    widen(64, 64, 1), norm(64), eg.nn.activation(eg.relu),
    widen(64, 32, 2), norm(32), eg.nn.activation(eg.relu),
    widen(32, 1, 2), eg.nn.activation(eg.tanh),
}

-- The discriminator goes the other way and ends with one number, large for what it takes for real.
local function narrow(channels, features)
    return eg.nn.sequential {
        eg.nn.conv2d(channels, features, {kernel = 5, stride = 2, padding = eg.SAME}),
        eg.nn.leaky_relu(0.2), eg.nn.dropout(0.3),
    }
end

local discriminator = eg.nn.sequential {
    narrow(1, 64), narrow(64, 128), eg.nn.flatten(), eg.nn.linear(128 * 7 * 7, 1),
}

generator:init "glorot_uniform"
discriminator:init "glorot_uniform"

-- ---- the game -----------------------------------------------------------------------------------------
-- The discriminator should say 1 to real images and 0 to made ones; the generator wants it to say 1 to its own.
-- Both losses come from one forward, under one tape that may be asked twice. What one learns does not touch what
-- the other learns from.
local adam = {
    generator = eg.optim.adam(generator, {lr = run.lr, epsilon_outside = true}),
    discriminator = eg.optim.adam(discriminator, {lr = run.lr, epsilon_outside = true}),
}

local function says_real(logits) return eg.bce_with_logits(logits, eg.ones_like(logits)) end
local function says_made(logits) return eg.bce_with_logits(logits, eg.zeros_like(logits)) end

local function play(real)
    local tape <close> = eg.tape {persistent = true}
    local made = generator(eg.randn {run.batch, noise_size}:to(run.device))
    local of_real, of_made = discriminator(real:to(run.device)), discriminator(made)
    local loss = {generator = says_real(of_made), discriminator = says_real(of_real) + says_made(of_made)}
    adam.generator:minimize(tape, loss.generator)
    adam.discriminator:minimize(tape, loss.discriminator)
    return loss
end

-- ---- playing ------------------------------------------------------------------------------------------
-- After each epoch the same noise becomes a picture, so that one can watch the generator learn.
local same_noise = eg.randn {16, noise_size}

local function draw(name)
    generator:eval()
    run:picture(name, eg.show, generator(same_noise:to(run.device)), {columns = 4, range = {-1, 1}, scale = 4})
    generator:train()
end

run:module("generator", generator)
run:module("discriminator", discriminator)
run:optim("adam-generator", adam.generator)
run:optim("adam-discriminator", adam.discriminator)
run.saver:dataset("digits", digits)
run.saver:tensor("noise", same_noise)

local step = run:resume_step()
local per_epoch = digits:count()
local steps = run.steps > 0 and run.steps or run.epochs * per_epoch
print(("%d steps of %d digits (%s)"):format(steps, run.batch, run.data or "drawn"))
print(generator:summary(same_noise:to(run.device)))

while run:goes_on(step, steps) do
    for real in digits do
        step = step + 1
        local loss = play(real)
        run:note(step, "generator", loss.generator, "discriminator", loss.discriminator)
        if step == steps then
            break
        elseif step % per_epoch ~= 0 and run:checkpoint(step, step % (run.smoke and 5 or 200) == 0) then
            goto stopped
        end
    end
    local epoch = math.ceil(step / per_epoch)
    local first = (epoch - 1) * per_epoch + 1
    print(("epoch %d: generator %.3f, discriminator %.3f"):format(
        epoch, run:mean("generator", first), run:mean("discriminator", first)))
    draw(("epoch-%04d.png"):format(epoch))
    run:checkpoint(step, true)
end
::stopped::

-- ---- what came out ------------------------------------------------------------------------------------

generator:save(run:path "generator.safetensors")
run:plot("losses.png", {"generator", "discriminator"}, "DCGAN")
print("pictures and curves are in " .. run.out)
run:check("discriminator", 0.9)
run:finish()
