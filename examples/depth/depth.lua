-- Depth and ego-motion from video alone (Mahjourian, Wicke, Angelova 2018).
--
-- Nobody says how far away things are. But if a net knew it, and another one how the camera has moved, then the frame
-- before could be seen from where this one was taken, and would look like it. Both learn until it does.
package.path = (arg[0]:match "^(.*)/" or ".") .. "/?.lua;" .. package.path
local eg = require "egret"
local flights = require "flights"
local run = require "egret.run" {
    name = "depth", unit = "videos",
    about = "Learns from video alone how far away things are and how the camera moves.",
    data = "folder as KITTI's odometry; without it flights are drawn",
    epochs = 12, batch = 4, drawn = {14, "flights to draw"}, width = {4, "channels of the nets are divided by it"},
    height = {64, "of frames, a multiple of 8"}, across = {128, "how wide they are, a multiple of 8"},
    lr = {1e-3, "Adam's learning rate; published: 2e-4"},
    smooth = {0.005, "weight of steps of disparities; published: 0.05, of frames 416 pixels wide"},
    smoke = {steps = 24, batch = 2, drawn = 2, width = 8, height = 32, across = 64, lr = 2e-3},
}
local h, w = run.height, run.across
assert(h % 8 == 0 and w % 8 == 0 and math.min(h, w) >= 24, "--height and --across are multiples of 8, 24 at least")

-- ---- frames in threes ---------------------------------------------------------------------------------
-- The last videos, every seventh, are not learned from; of a single one the last frames.
local videos = flights.open(run.data, {drawn = run.drawn, height = h, width = w})
local learned, judged = {}, {}
local held = math.max(1, #videos // 7)
for i, video in ipairs(videos) do
    local n = #video.frames - 2
    for t = 1, n do
        local other = #videos > 1 and i > #videos - held or #videos == 1 and t > n * 3 // 4
        table.insert(other and judged or learned, {video = video, t = t})
    end
end

local function three(list, i)
    local from = list[i + 1]
    return from.video.frames:slice(0, from.t - 1, from.t + 2, 1):reshape {9, h, w}, from.video.lens
end

--- Brighter or darker, and of another tint.
local function changed(i)
    local images, lens = three(learned, i)
    local tint = (eg.uniform({1, 3, 1, 1}, 0.8, 1.2) * eg.uniform({1}, 0.5, 2)):expand {3, 3, 1, 1}:reshape {9, 1, 1}
    return (images * tint):clamp(0, 1), lens
end

local train = eg.data.from(changed, #learned):shuffle(#learned, {seed = run.seed})
train = run:deal(train:batch(run.batch, {drop_last = true}))

-- ---- the nets -----------------------------------------------------------------------------------------
local function normed(conv, channels)
    return eg.nn.sequential {conv, eg.nn.batch_norm(channels, {no_weight = true, eps = 1e-3, relu = true})}
end

local function conv(from, to, kernel, stride)
    local options = {kernel = kernel, stride = stride, padding = eg.SAME, no_bias = true}
    return normed(eg.nn.conv2d(from, to, options), to)
end

local function narrowed(channels)
    for i, c in ipairs(channels) do
        channels[i] = c // run.width
    end
    return channels
end

--- Seven times down to half the frame, and up again; the last four levels say disparities, 1 / depth.
local function depth_net()
    local widths, ups = narrowed {32, 64, 128, 256, 512, 512, 512}, narrowed {16, 32, 64, 128, 256, 512, 512}
    local down, up, join, say, from = {}, {}, {}, {}, 3
    for i, c in ipairs(widths) do
        local kernel = i == 1 and 7 or i == 2 and 5 or 3
        down[i] = eg.nn.sequential {conv(from, c, kernel, 2), conv(c, c, kernel, 1)}
        from = c
    end
    for i = 7, 1, -1 do
        local c, options = ups[i], {kernel = 3, stride = 2, padding = eg.SAME, no_bias = true}
        up[i] = normed(eg.nn.conv_transpose2d(from, c, options), c)
        join[i] = conv(c + (widths[i - 1] or 0) + (i < 4 and 1 or 0), c, 3, 1)
        if i <= 4 then
            say[i] = eg.nn.conv2d(c, 1, {kernel = 3, padding = eg.SAME})
            say[i]:parameters()[2]:init("constant", {value = -2.5}) -- far away to begin with
        end
        from = c
    end
    local list = eg.nn.module_list
    return eg.module {
        down = list(down), up = list(up), join = list(join), say = list(say),
        forward = function(self, x)
            local seen, said, all = {}, nil, {}
            for i = 0, 6 do
                x = self.down:at(i)(x)
                seen[i] = x
            end
            for i = 6, 0, -1 do
                local parts = {self.up:at(i)(x)}
                if i > 0 then
                    local size = seen[i - 1]:shape()
                    parts = {parts[1]:resize({size[3], size[4]}, {mode = "nearest"}), seen[i - 1]}
                end
                if said then
                    local size = parts[1]:shape()
                    parts[#parts + 1] = said:resize({size[3], size[4]}, {grid = "origin"})
                end
                x = self.join:at(i)(eg.concat(parts, 1))
                if i < 4 then
                    said = self.say:at(i)(x):sigmoid() * 10 + 0.01
                    all[i + 1] = said
                end
            end
            return table.unpack(all)
        end,
    }
end

local function motion_net()
    local layers, from = {}, 9
    for i, c in ipairs(narrowed {16, 32, 64, 128, 256, 256, 256}) do
        layers[i] = conv(from, c, i == 1 and 7 or i == 2 and 5 or 3, 2)
        if i > 5 then -- of maps of few pixels a small batch has no statistics
            local plain = eg.nn.conv2d(from, c, {kernel = 3, stride = 2, padding = eg.SAME})
            layers[i] = eg.nn.sequential {plain, eg.nn.activation(eg.relu)}
        end
        from = c
    end
    layers[8] = eg.nn.conv2d(from, 12, {kernel = 1})
    layers[9], layers[10] = eg.nn.global_avg_pool(), eg.nn.unflatten {2, 6}
    return eg.nn.sequential(layers)
end

local depth, motion = depth_net(), motion_net()

-- ---- seen from elsewhere ------------------------------------------------------------------------------

--- Rotations [N, 3, 3] about x after y after z, of motions [N, 6]: three numbers to move by, three to turn by.
local function rotations(m)
    local s, c = {}, {}
    for i = 1, 3 do
        s[i], c[i] = m:slice(1, i + 2, i + 3, 1):sin(), m:slice(1, i + 2, i + 3, 1):cos()
    end
    return eg.concat({
        c[2] * c[3], -(c[2] * s[3]), s[2],
        c[1] * s[3] + s[1] * s[2] * c[3], c[1] * c[3] - s[1] * s[2] * s[3], -(s[1] * c[2]),
        s[1] * s[3] - c[1] * s[2] * c[3], s[1] * c[3] + c[1] * s[2] * s[3], c[1] * c[2],
    }, 1):reshape {#m, 3, 3}
end

--- Numbers i of a lens as [N, 1, 1].
local function part(lens, i)
    return lens:slice(1, i - 1, i, 1):unsqueeze(2)
end

--- What a camera at the target would have seen, put together from the source, and where that shows it.
local function warped(source, disparity, m, lens)
    local size, n = source:shape(), #source
    local rows, columns = size[3], size[4]
    local x = (eg.arange(0, columns, 1):to(run.device) - part(lens, 3)) / part(lens, 1)
    local y = (eg.arange(0, rows, 1):to(run.device) - part(lens, 4)) / part(lens, 2)
    local all = {n, rows, columns}
    local rays = eg.stack({x:expand(all), y:transpose(1, 2):expand(all), eg.ones(all):to(run.device)}, 1)
    local points = (rays / disparity):reshape {n, 3, rows * columns}
    points = rotations(m):matmul(points) + m:slice(1, 0, 3, 1):unsqueeze(2)
    local ahead = points:slice(1, 2, 3, 1):clamp_min(1e-3)
    local u = (points:slice(1, 0, 1, 1) / ahead * part(lens, 1) + part(lens, 3)) * (2 / (columns - 1)) - 1
    local v = (points:slice(1, 1, 2, 1) / ahead * part(lens, 2) + part(lens, 4)) * (2 / (rows - 1)) - 1
    local there = u:detach():abs():le(1):logical_and(v:detach():abs():le(1)):cast "f32":reshape {n, 1, rows, columns}
    local grid = eg.concat({u, v}, 1):transpose(1, 2):reshape {n, rows, columns, 2}
    return eg.grid_sample(source, grid, {align_corners = true, border = "edge"}), there
end

-- ---- the loss -----------------------------------------------------------------------------------------

--- What differs of what is seen around each pixel: (1 - SSIM) / 2 of 3 x 3 of them.
local function dissimilarity(x, y, there)
    local function mean(t) return t:avg_pool2d {kernel = 3, stride = 1} end
    local mx, my = mean(x), mean(y)
    local above = (mx * my * 2 + 1e-4) * ((mean(x * y) - mx * my) * 2 + 9e-4)
    local below = (mx * mx + my * my + 1e-4) * (mean(x * x) - mx * mx + mean(y * y) - my * my + 9e-4)
    return (((1 - above / below) / 2):clamp(0, 1) * mean(there)):mean()
end

--- Depths do not jump where the image does not.
local function roughness(disparity, image)
    local sum = 0
    for axis = 2, 3 do
        local edges = image:diff(axis):abs():mean {axes = {1}, keepdim = true}
        sum = sum + (disparity:diff(axis):abs() * (-edges):exp()):mean()
    end
    return sum
end

--- Of x [N, 3, ...], of each frame one, those that pairs of neighbours look at, or from: [4 N, ...].
local function of_pairs(x, which)
    local parts = {}
    for k, i in ipairs(which) do
        parts[k] = x:select(1, i)
    end
    return eg.concat(parts, 0)
end
local sources, targets = {0, 1, 1, 2}, {1, 0, 2, 1}

-- Frames [N, 9, h, w], each seen from its neighbours, on four scales. The published loss also lays the points that
-- both see on each other; depth.c has that.
local function loss_of(frames, lens)
    local n, sum, warp = #frames, 0, 0
    local m = motion(frames) * 0.01
    local a, b = m:select(1, 0), m:select(1, 1)
    m, lens = eg.concat({a, -a, b, -b}, 0), eg.concat({lens, lens, lens, lens}, 0)
    for scale, disparity in ipairs {depth(frames:reshape {3 * n, 3, h, w})} do
        local by = 2 ^ (scale - 1) // 1 | 0
        local images = by > 1 and frames:avg_pool2d {kernel = by} or frames
        images = images:reshape {n, 3, 3, h // by, w // by}
        local k = eg.concat({lens:slice(1, 0, 2, 1) / by, (lens:slice(1, 2, 4, 1) + 0.5) / by - 0.5}, 1)
        local each = disparity:reshape {n, 3, 1, h // by, w // by}
        local target = of_pairs(images, targets)
        local seen, there = warped(of_pairs(images, sources), of_pairs(each, targets), m, k)
        local off = ((seen - target):abs() * there):mean() * 4
        sum = sum + off * 0.85 + dissimilarity(seen, target, there) * (4 * 0.15)
            + roughness(disparity, images:flatten(0, 1)) * (3 * run.smooth / by)
        warp = warp + off
    end
    return sum, warp
end

-- ---- learning -----------------------------------------------------------------------------------------
local both = eg.nn.module_list {depth, motion}
local adam = eg.optim.adam(both, {lr = run.lr})
run:module("nets", both)
run:optim("adam", adam)
run.saver:dataset("train", train)

local step, per_epoch = run:resume_step(), train:count()
local steps = run.steps > 0 and run.steps or run.epochs * per_epoch
print(("%d steps of %d threes of frames (%s)"):format(steps, run.batch, run.data or "drawn flights"))

--- What was not learned from: the loss, and how far off depths are where they are known.
local function examine()
    local scores = eg.metrics()
    both:eval()
    for i = 0, #judged - 1 do
        local images, lens = three(judged, i)
        images, lens = images:unsqueeze(0):to(run.device), lens:unsqueeze(0):to(run.device)
        scores:mean("loss", (loss_of(images, lens)))
        local from = judged[i + 1]
        if from.video.depths then
            local found = (1 / depth(images:slice(1, 3, 6, 1))):to "cpu"
            scores:depth("depth", found, from.video.depths[from.t + 1]:reshape {1, 1, h, w}, {median = true})
        end
    end
    both:train()
    return scores:value "loss", judged[1].video.depths and scores:value "depth"
end

while run:goes_on(step, steps) do
    for images, lens in train do
        step = step + 1
        local warp
        local loss = adam:minimize(function()
            local sum
            sum, warp = loss_of(images:to(run.device), lens:to(run.device))
            return sum
        end)
        run:note(step, "loss", loss, "warp", warp)
        if step == steps then
            break
        elseif step % per_epoch ~= 0 and run:checkpoint(step, step % (run.smoke and 5 or 200) == 0) then
            goto stopped -- the checkpoint of an epoch's last step comes after the test
        end
    end
    local loss, error = examine()
    run:note(step, "judged", loss)
    if error then
        run:note(step, "error", error)
    end
    print(("epoch %d: loss %.3f, of others %.3f%s"):format(
        math.ceil(step / per_epoch), run:mean("loss", step - per_epoch + 1), loss,
        error and (", depths are off by %.1f %%"):format(100 * error) or ""))
    run.saver:save_best(step, -(error or loss))
    run:checkpoint(step, true)
end
::stopped::

-- ---- what it sees -------------------------------------------------------------------------------------
-- With the best weights there were: a frame, the one before, and that one seen from here; then 1 / depth.
run:best("nets", both)
both:eval()
local cells, first = {}, judged[1]
for i = 0, #judged - 1, math.max(1, #judged // 3) do
    local images, lens = three(judged, i)
    local frames = images:unsqueeze(0):to(run.device)
    local m, now, before = motion(frames) * 0.01, frames:slice(1, 3, 6, 1), frames:slice(1, 0, 3, 1)
    local seen, there = warped(before, depth(now), m:select(1, 0), lens:unsqueeze(0):to(run.device))
    for _, cell in ipairs {now, before, seen * there} do
        cells[#cells + 1] = cell[1]:to "cpu"
    end
end
run:picture("warped.png", eg.show, cells, {columns = 3, scale = 2})
local function map(name, disparity, title)
    run:picture(name, eg.heatmap, disparity, {title = title})
end
local now = three(judged, 0):slice(0, 3, 6, 1):unsqueeze(0):to(run.device)
map("depth.png", depth(now):reshape {h, w}:to "cpu", "1 / depth, found")
if first.video.depths then
    map("true.png", 1 / first.video.depths[first.t + 1], "1 / depth, as it is")
end
run:plot("loss.png", {"loss", "warp"}, "Loss")
print("model, pictures and curves are in " .. run.out)
run:check("loss", 0.98)
run:finish()
