-- Variational autoencoder: learns to write digits by reading them through a bottleneck (Kingma and Welling 2013).
--
-- The encoder says where in a space of 50 numbers an image might lie, the decoder makes an image of a place there.
-- Trained together to lose little on the way, the decoder makes digits of places never visited.
package.path = (arg[0]:match "^(.*)/" or ".") .. "/../common/?.lua;" .. package.path
local eg = require "egret"
local glyphs = require "glyphs"
local run = require "egret.run" {
    name = "cvae", unit = "images", about = "Trains a variational autoencoder on digits and lets it write new ones.",
    data = "folder with the MNIST files, plain or .gz; without it digits are drawn",
    epochs = 20, batch = 100, drawn = {20000, "how many digits to draw"}, lr = {1e-4, "learning rate"},
    smoke = {steps = 20, drawn = 2000, lr = 1e-3},
}

-- ---- the nets -----------------------------------------------------------------------------------------
-- The encoder halves the sides twice and ends with 100 numbers: 50 means, and 50 logarithms of variances. The decoder
-- goes the other way, from 50 numbers to a logit for each pixel.
local latent = 50

local function relu() return eg.nn.activation(eg.relu) end

local function widen(channels, features, stride)
    return eg.nn.conv_transpose2d(channels, features, {kernel = 3, stride = stride, padding = eg.SAME})
end

local encoder = eg.nn.sequential {
    eg.nn.conv2d(1, 32, {kernel = 3, stride = 2}), relu(), eg.nn.conv2d(32, 64, {kernel = 3, stride = 2}), relu(),
    eg.nn.flatten(), eg.nn.linear(64 * 6 * 6, 2 * latent),
}
encoder:init "glorot_uniform"

local decoder = eg.nn.sequential {
    eg.nn.linear(latent, 32 * 7 * 7), relu(), eg.nn.unflatten {32, 7, 7},
    widen(32, 64, 2), relu(), widen(64, 32, 2), relu(), widen(32, 1, 1),
}
decoder:init "glorot_uniform"

-- ---- the bound ----------------------------------------------------------------------------------------
-- Minus the evidence lower bound, estimated with one code per image: the mean over the batch of
-- -(log p(x|z) + log p(z) - log q(z|x)). The code is z = mean + e^(log_var / 2) noise, so that the gradient finds its
-- way through chance.

--- log N(z; mean, e^log_var) of each row; without them of the standard normal.
local function log_normal(z, mean, log_var)
    local off = (mean and z - mean or z):square()
    off = log_var and off * (-log_var):exp() + log_var or off
    return ((off + math.log(2 * math.pi)) * -0.5):sum {axes = 1}
end

local function loss_of(images)
    local noise = eg.randn {#images, latent}:to(run.device)
    images = images:to(run.device)
    local mean, log_var = table.unpack(encoder(images):chunk(2, 1))
    local z = mean + (log_var * 0.5):exp() * noise
    local log_px = -eg.bce_with_logits(decoder(z), images, {reduction = "none"}):sum {axes = {1, 2, 3}}
    return -(log_px + log_normal(z) - log_normal(z, mean, log_var)):mean()
end

-- ---- the digits ---------------------------------------------------------------------------------------
-- Pixels are black or white, once and for all. Labels are of no use here.
local same_codes = eg.randn {16, latent}

local function digits(split, count)
    local all = run.data and eg.data.mnist(run.data, split) or eg.data.from_tensors {(glyphs.digits(count))}
    return all:map(function(image) return image:ge(0.5):cast "f32" end):shuffle(60000, {seed = run.seed})
        :batch(run.batch):prefetch(4)
end

local train, test = run:deal(digits("train", run.drawn)), digits("test", math.max(run.drawn // 6, 1))

-- ---- learning -----------------------------------------------------------------------------------------

local adam = eg.optim.adam(eg.nn.module_list {encoder, decoder}, {lr = run.lr, epsilon_outside = true})
run:module("encoder", encoder)
run:module("decoder", decoder)
run:optim("adam", adam)
run.saver:dataset("train", train)
run.saver:dataset("test", test)
run.saver:tensor("codes", same_codes)

local step, per_epoch = run:resume_step(), train:count()
local steps, every = run.steps > 0 and run.steps or run.epochs * per_epoch, run.smoke and 5 or 500
print(("%d steps of %d digits (%s)"):format(steps, run.batch, run.data or "drawn"))
print(encoder:summary(eg.zeros({16, 1, 28, 28}):to(run.device)))
print(decoder:summary(same_codes:to(run.device)))

-- The same sixteen places after each epoch, so that one can watch the decoder learn.
local function draw(epoch)
    run:picture(("epoch-%04d.png"):format(epoch), eg.show, decoder(same_codes:to(run.device)):sigmoid(),
                {columns = 4, range = {0, 1}, scale = 4})
end

-- The bound on digits never seen: the mean over their batches.
local function examine()
    local sum, batches = 0, 0
    for images in test do
        sum, batches = sum - loss_of(images):item(), batches + 1
    end
    return sum / batches
end

if step == 0 then
    draw(0)
end
while run:goes_on(step, steps) do
    for images in train do
        step = step + 1
        run:note(step, "loss", adam:minimize(function() return loss_of(images) end))
        if step == steps then
            break
        elseif step % per_epoch ~= 0 and run:checkpoint(step, step % every == 0) then
            goto stopped -- the checkpoint of an epoch's last step comes after the bound, which draws noise
        end
    end
    local epoch, elbo = math.ceil(step / per_epoch), examine()
    run:note(step, "elbo", elbo)
    print(("epoch %d: test ELBO %.3f"):format(epoch, elbo))
    draw(epoch)
    run:checkpoint(step, true)
end
::stopped::

-- ---- what came out ------------------------------------------------------------------------------------

decoder:save(run:path "decoder.safetensors")
run:plot("losses.png", {"loss"}, "Variational autoencoder: minus the ELBO")
print("pictures and curves are in " .. run.out)
run:check("loss", 0.8)
run:finish()
