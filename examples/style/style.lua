-- Style transfer: a photo as it would be in the manner of a painting (Gatys, Ecker, Bethge 2015).
--
-- A net that has seen many photos sees two things in an image. What one of its layers makes of it says what is where.
-- Which of a layer's channels go together, wherever that is, says what the texture is. So there is a loss for what is
-- where, beside the photo, and one for texture, beside the painting; and what learns is the image, not the net.
local here = arg[0]:match "^(.*)/" or "."
package.path = here .. "/?.lua;" .. here .. "/../common/?.lua;" .. package.path
local eg = require "egret"
local pictures = require "pictures"
local trunk = require "trunk"
local run = require "egret.run" {
    name = "style", about = "Paints a photo in the manner of a painting, in 1000 steps (lbfgs: 50).",
    data = "folder with content/*.jpg and style/*.jpg, of which the first are taken; without it both are drawn",
    epochs = 1, batch = 1, photo = {nil, "the file that is to be painted"},
    painting = {nil, "the file whose manner it gets"}, size = {512, "of the longer side of both, in pixels"},
    trunk = {"vgg_19", "the net that looks: vgg_19, vgg_16 or resnet_cifar_20"},
    weights = {nil, "a file of its weights; without it they are by chance"}, lr = {0.0, "learning rate; 0: 5, of lbfgs 1"},
    optimizer = {"adam", "or lbfgs, of which each step is up to 20 iterations"},
    texture = {1e-2, "what the texture counts"}, places = {1e3, "what counts what is where"},
    smoke = {steps = 20, size = 32, trunk = "resnet_cifar_20", lr = 1.0},
}

-- ---- the pictures -------------------------------------------------------------------------------------

local function picture(path, folder, draw)
    if path then
        return pictures.load(path, run.size)
    end
    return run.data and pictures.first(run.data .. "/" .. folder .. "/*.jpg", run.size) or draw(run.size)
end

local photo = picture(run.photo, "content", pictures.scene)
local painting = picture(run.painting, "style", pictures.paint)

-- ---- the net that looks -------------------------------------------------------------------------------
-- Its layers up to the last one that is asked. The first ones see colours and edges, the last ones things.
local vgg = {style = {"conv1_1", "conv2_1", "conv3_1", "conv4_1", "conv5_1"}, content = "conv5_2"}
local seen_in = assert(({
    vgg_16 = vgg, vgg_19 = vgg,
    resnet_cifar_20 = {style = {"conv1", "block1_unit1", "block2_unit1", "block3_unit1"}, content = "block3_unit2"},
})[run.trunk], "no layers of --trunk " .. run.trunk .. " are known here")

local net = trunk.new(run.trunk, seen_in.content, run.weights)
net:to_device(run.device)
print(("%s with weights of %s"):format(run.trunk, run.weights or "chance: it sees textures, but has learned nothing"))

-- ---- what it sees -------------------------------------------------------------------------------------

local paths = table.concat(seen_in.style, ", ") .. ", " .. seen_in.content

local function look(canvas)
    local taps, grams = eg.tensors(), {}
    net:forward_taps(canvas, paths, taps)
    for i, layer in ipairs(seen_in.style) do
        local features = taps:get(layer):flatten(2, -1)
        grams[i] = features:matmul(features:transpose(1, 2)) * (1 / features:shape()[3])
    end
    return grams, taps:get(seen_in.content)
end

local canvas = pictures.canvas(photo):to(run.device):copy():requires_grad()
local style = look(pictures.canvas(painting):to(run.device))
local _, content = look(canvas)

local function losses()
    local grams, places = look(canvas)
    local texture = 0
    for i, gram in ipairs(grams) do
        texture = texture + (gram - style[i]):square():mean()
    end
    return texture * (run.texture / #grams), (places - content):square():mean() * run.places
end

-- ---- painting -----------------------------------------------------------------------------------------
-- After each step the canvas goes back within what a picture can have. The best one there was is kept.
local best, lowest = canvas:copy(), eg.full({1}, math.huge, "f64"):to(run.device)
local function rate(usual)
    return run.lr > 0 and run.lr or usual
end
local lbfgs = run.optimizer == "lbfgs"
local optim = lbfgs and eg.optim.lbfgs({canvas}, {lr = rate(1), max_iter = 20, history_size = 20, strong_wolfe = true})
    or eg.optim.adam({canvas}, {lr = rate(5), beta1 = 0.99, eps = 0.1, epsilon_outside = true})
run:optim(run.optimizer, optim)
run.saver:tensor("canvas", canvas)
run.saver:tensor("best", best)
run.saver:tensor("lowest", lowest)

local step = run:resume_step()
local steps = run.steps > 0 and run.steps or lbfgs and 50 or 1000
local every = math.max(steps // 10, 1)

while run:goes_on(step, steps) do
    local texture, places -- before the step: L-BFGS asks again
    local loss = optim:minimize(function()
        local t, p = losses()
        texture, places = texture or t, places or p
        return t + p
    end)
    pictures.clip(canvas)
    if loss:item() < lowest:item() then
        best:copy_(canvas)
        lowest:copy_(loss:reshape {1}:cast "f64")
    end
    if step % every == 0 then -- counted from 0, as losses are those before a step
        print(("step %d: total %.4e, style %.4e, content %.4e"):format(step, loss:item(), texture:item(), places:item()))
        run:picture(("step-%05d.png"):format(step), eg.show, {pictures.shown(canvas)}, {range = {0, 255}})
    end
    step = step + 1
    run:note(step, "loss", loss, "style", texture, "content", places)
    run:checkpoint(step, step % (run.smoke and 5 or 200) == 0 or step == steps)
end

-- ---- what came out ------------------------------------------------------------------------------------

local result = pictures.shown(best)
run:picture("result.png", eg.show, {result}, {range = {0, 255}})
run:picture("sheet.png", eg.show, pictures.row {photo, painting, result}, {columns = 3, range = {0, 255}})
run:plot("loss.png", {"loss", "style", "content"}, "Losses")
print(("lowest loss %.4e; pictures and curves are in %s"):format(lowest:item(), run.out))
run:check("loss", 0.95)
run:finish()
