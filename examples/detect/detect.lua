-- Detection: a net says where objects are in a photo, what they are and, if it is asked to, which pixels are theirs
-- (Faster R-CNN, Ren et al. 2015; Mask R-CNN, He et al. 2017).
--
-- Many boxes of set sizes and shapes, anchors, lie all over the photo. A first look says of each whether it holds
-- anything, and how it should be moved to hold it better; a second look, at the likely ones alone, says what it is.
package.path = (arg[0]:match "^(.*)/" or ".") .. "/?.lua;" .. package.path
local eg = require "egret"
local scenes = require "scenes"
local run = require "egret.run" {
    name = "detect", unit = "images", about = "Trains a net to find objects in photos.",
    data = "folder as Pascal VOC lays it out; without it shapes are drawn, and their masks learned too",
    epochs = 12, batch = 4, drawn = {800, "how many pictures to draw"}, layers = {18, "of the residual net"},
    width = {128, "channels of the pyramid of features; published: 256"},
    hidden = {512, "width of the dense layers that look again; published: 1024"},
    anchor = {16.0, "side of the smallest anchors, pixels"}, shorter = {160, "pixels of a photo's shorter side"},
    longer = {320, "and that the longer one has at most"}, lr = {0.02, "learning rate"},
    smoke = {steps = 24, batch = 2, drawn = 24, width = 16, hidden = 32, anchor = 8.0, shorter = 64, longer = 128,
             lr = 0.05},
}

-- ---- photos -------------------------------------------------------------------------------------------
-- Photos of a batch end in zeros where they are smaller than the largest; a class of -1 is no object.
local all = scenes.open(run.data, run)
local names, padded = all.names, {value = {0, 0, -1}}
local train = run:deal(all:learned_from():padded_batch(run.batch, {value = padded.value, drop_last = true}))
local test = all:tested_with():padded_batch(run.batch, padded)
local masked = not run.data

-- ---- the net ------------------------------------------------------------------------------------------
local make = masked and eg.models.mask_rcnn or eg.models.faster_rcnn
local net = make(#names, {layers = run.layers, width = run.width, hidden = run.hidden, anchor = run.anchor,
                          proposals = 500})

-- ---- learning -----------------------------------------------------------------------------------------
local sgd = eg.optim.sgd(net, {lr = run.lr, momentum = 0.9, weight_decay = 1e-4})
sgd:clip_norm(10)
run:module("net", net)
run:optim("sgd", sgd)
run.saver:dataset("train", train)

local step, per_epoch = run:resume_step(), train:count()
local steps = run.steps > 0 and run.steps or run.epochs * per_epoch
sgd:follow {kind = "cosine", lr = run.lr, steps = steps, warm_up = math.min(100, steps // 8), warm_up_kind = "over"}
print(("%d steps of %d photos (%s)"):format(steps, run.batch, run.data or "drawn"))

--- Photo i of what a batch has, and of what was found on it.
local function each(images, boxes, labels, sizes, flags)
    local found, i = net:detector_find(images:to(run.device), sizes), 0
    return function()
        i = i + 1
        if i <= #images then
            local f, n = eg.detections_at(found, i - 1), labels[i]:ge(0):cast "i64":sum():item()
            for name, t in pairs(f) do
                f[name] = t:to "cpu"
            end
            return i, f, {boxes = boxes[i]:slice(0, 0, n, 1), labels = labels[i]:slice(0, 0, n, 1),
                          flags = flags[i]:slice(0, 0, n, 1)}
        end
    end
end

--- Mean average precision of what is found on photos that were not learned from.
local function examine()
    local scores = eg.detection_scores(#names)
    net:eval()
    for images, boxes, labels, sizes, flags in test do
        for _, f, is in each(images, boxes, labels, sizes, flags) do
            scores:add(f.boxes, f.scores, f.labels, is.boxes, is.labels, {flags = is.flags})
        end
    end
    net:train()
    return scores
end

while run:goes_on(step, steps) do
    for images, boxes, labels, sizes, _, masks in train do
        step = step + 1
        local losses
        local loss = sgd:minimize(function()
            losses = net:detector_loss(images:to(run.device), boxes:to(run.device), labels:to(run.device),
                                       {sizes = sizes, masks = masked and masks:to(run.device) or nil})
            return losses.loss
        end)
        run:note(step, "loss", loss, "objectness", losses.objectness, "proposal", losses.proposal,
                 "label", losses.label, "box", losses.box)
        if step == steps then
            break
        elseif step % per_epoch ~= 0 and run:checkpoint(step, step % (run.smoke and 5 or 200) == 0) then
            goto stopped -- the checkpoint of an epoch's last step comes after the test
        end
    end
    local scores = examine()
    local ap, ap50 = scores:value "AP", scores:value "AP50"
    run:note(step, "AP", ap, "AP50", ap50)
    print(("epoch %d: loss %.3f, AP %.4f, AP50 %.4f"):format(
        math.ceil(step / per_epoch), run:mean("loss", step - per_epoch + 1), ap, ap50))
    run.saver:save_best(step, ap50)
    run:checkpoint(step, true)
end
::stopped::

-- ---- what it found ------------------------------------------------------------------------------------
-- With the best weights there were: what is there dashed, what was found with its name and score.
run:best("net", net)
local scores = examine()
print(("the best net's AP is %.4f, AP50 %.4f"):format(scores:value "AP", scores:value "AP50"))
for i, name in ipairs(names) do
    print(("  %-20s AP50 %.4f"):format(name, scores:of("AP50", i - 1)))
end

net:eval()
for images, boxes, labels, sizes, flags in test do
    local cells = {}
    for i, f, is in each(images, boxes, labels, sizes, flags) do
        local size = sizes[i]:table()
        local photo = scenes.shown(images[i]:slice(1, 0, size[1], 1):slice(2, 0, size[2], 1))
        local masks = f.masks and eg.detection_masks(f.boxes, f.masks, size[1], size[2])
        photo = eg.draw_objects(photo, is.boxes, {labels = is.labels, dashed = true})
        cells[i] = eg.draw_objects(photo, f.boxes, {labels = f.labels, scores = f.scores, masks = masks,
                                                    classes = names, least = 0.5})
    end
    local same = true
    for i = 2, #cells do
        same = same and table.concat(cells[i]:shape(), " ") == table.concat(cells[1]:shape(), " ")
    end
    run:picture("found.png", eg.show, same and cells or {cells[1]}, {columns = 2, scale = 2})
    break
end

run:plot("precision.png", {"AP50", "AP"}, "Average precision", {xlabel = "epoch"})
run:plot("loss.png", {"loss", "objectness", "label", "box"}, "Losses")
print("model, pictures and curves are in " .. run.out)
run:check("loss", 0.98)
run:finish()
