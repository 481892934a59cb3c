-- Keypoints: points in space that are the same on all objects of a kind, found by a net that nobody has shown any
-- (Suwajanakorn et al. 2018).
--
-- All it gets are two views of an object and how the camera went from one to the other. Its points must be seen in each
-- view where the other one says, and give away how the object has turned.
package.path = (arg[0]:match "^(.*)/" or ".") .. "/?.lua;" .. package.path
local eg = require "egret"
local cars = require "cars"
local run = require "egret.run" {
    name = "keypoints", unit = "images",
    about = "Finds keypoints in space that are the same on all cars, from pairs of views.",
    epochs = 8, batch = 8, side = {32, "pixels of a picture; published: 128"}, cars = {60, "to learn from"},
    others = {8, "to be judged by"}, each = {20, "pairs of views of each car"},
    filters = {16, "width of the net; published: 64"}, keypoints = {10, "how many to find"},
    lr = {1e-3, "learning rate"}, pose = {2.0, "weight of the loss of rotations; published: 0.2"},
    noise = {0.02, "added to keypoints before their rotation is found; published: 0.1"},
    told = {300, "steps in which the net is told which way a car looks"},
    smoke = {steps = 24, side = 24, cars = 6, others = 2, each = 4, filters = 8, keypoints = 4, told = 12, batch = 4},
}

-- ---- pairs of views -----------------------------------------------------------------------------------
local train = run:deal(eg.data.from_tensors {cars.pairs(0, run.cars, run.each, run.side)}
    :shuffle(run.cars * run.each, {seed = run.seed}):batch(run.batch, {drop_last = true}))
local test = eg.data.from_tensors {cars.pairs(run.cars, run.others, run.each, run.side)}:batch(run.batch)

--- Of a batch [B, 2, ...] first views first, [2 B, ...].
local function by_view(x) return x:transpose(0, 1):flatten(0, 1):to(run.device) end

local function first(x) return x:slice(0, 0, #x // 2, 1) end
local function second(x) return x:slice(0, #x // 2, #x, 1) end
local function swapped(x) return x:roll(#x // 2, 0) end

-- ---- the net ------------------------------------------------------------------------------------------
-- Twelve dilated convolutions see all of the picture and say of each pixel how likely a keypoint is there, and how
-- deep. Another such net says first which way the car looks, as its front and back are alike.
local function trunk(channels, filters, last)
    local layers = {}
    for _, dilation in ipairs {1, 1, 2, 4, 8, 16, 1, 2, 4, 8, 16, 1} do
        table.insert(layers, eg.nn.conv2d(channels, filters, {kernel = 3, padding = eg.SAME, dilation = dilation,
                                                              no_bias = true}))
        table.insert(layers, eg.nn.batch_norm(filters, {momentum = 0.01, eps = 1e-3, no_weight = true}))
        table.insert(layers, eg.nn.leaky_relu(0.1))
        channels = filters
    end
    return eg.nn.sequential {table.unpack(table.move(last, 1, #last, #layers + 1, layers))}
end

local function conv(channels, out) return eg.nn.conv2d(channels, out, {kernel = 3, padding = eg.SAME}) end

local see, place, depth = trunk(4, run.filters, {}), conv(run.filters, run.keypoints), conv(run.filters, run.keypoints)
local ways = trunk(3, run.filters // 2, {conv(run.filters // 2, 2)})
local net = eg.nn.module_list {see, place, depth, ways}
net:init "glorot_uniform"

--- u, v and u^2 + v^2 of each pixel, [side side, 3].
local line = (eg.arange(0, run.side, 1) + 0.5) * (2 / run.side) - 1
local u = line:unsqueeze(0):expand {run.side, run.side}:flatten(0, 1)
local v = line:unsqueeze(1):expand {run.side, run.side}:flatten(0, 1) * -1
local grid = eg.stack({u, v, u * u + v * v}, 1):to(run.device)

local function maps_of(logits) return logits:flatten(2, 3):softmax(2) end

--- Which way a car looks, 1 for to the right: by where the ends of its x axis are believed to be.
local function facing_of(axis)
    return axis:select(2, 0):select(1, 0):gt(axis:select(2, 0):select(1, 1)):cast "f32"
end

local function find(pictures, facing)
    local n = #pictures
    local axis = maps_of(ways(pictures)):matmul(grid):slice(2, 0, 2, 1)
    facing = (facing or facing_of(axis)):reshape {n, 1, 1, 1}:expand {n, 1, run.side, run.side}
    local x = see(eg.concat({pictures, facing}, 1))
    local maps = maps_of(place(x))
    local z = (maps * (depth(x) - cars.distance):flatten(2, 3)):sum {axes = {2}, keepdim = true}
    local moments = maps:matmul(grid)
    local uv = moments:slice(2, 0, 2, 1)
    return {uvz = eg.concat({uv, z}, 2), maps = maps, axis = axis,
            variance = moments:select(2, 2) - (uv * uv):sum {axes = {2}}}
end

-- ---- space --------------------------------------------------------------------------------------------
local function unproject(uvz)
    local z = uvz:slice(2, 2, 3, 1)
    return eg.concat({uvz:slice(2, 0, 2, 1) * z * (-1 / cars.focal), z}, 2)
end

local function project(xyz) return xyz:slice(2, 0, 2, 1) / xyz:slice(2, 2, 3, 1) * -cars.focal end

local function moved(xyz, matrices)
    local rows = matrices:slice(1, 0, 3, 1)
    return xyz:matmul(rows:slice(2, 0, 3, 1):transpose(1, 2)) + rows:slice(2, 3, 4, 1):transpose(1, 2)
end

--- Where keypoints of each view are seen in the other one of its pair.
local function in_other(uvz, into, back)
    return project(moved(moved(unproject(uvz), back), swapped(into)))
end

--- The rotation that brings points x nearest to y, by singular values; without a reflection.
local function rotation(x, y)
    local function centred(t) return t - t:mean {axes = {1}, keepdim = true} end
    local a, _, b = centred(y):transpose(1, 2):matmul(centred(x)):svd()
    local last = a:slice(2, 2, 3, 1) * a:matmul(b):det():reshape {-1, 1, 1}
    return eg.concat({a:slice(2, 0, 2, 1), last}, 2):matmul(b)
end

local function turned(into, back) return second(into):matmul(first(back)):slice(1, 0, 3, 1):slice(2, 0, 3, 1) end

--- The angle between rotations. Its slope is infinite at 0 and at half a turn, so it ends a hair before.
local function angle(r, s)
    local sine = (((r - s) ^ 2):sum {axes = {1, 2}} + 1e-12):sqrt() / 8 ^ 0.5
    return sine:clamp_max(1 - 1e-6):asin() * 2
end

-- ---- losses -------------------------------------------------------------------------------------------
local weights = {consistency = 1, pose = run.pose, separation = 1, silhouette = 1, variance = 0.5, orientation = 1}
local names = {"consistency", "pose", "separation", "silhouette", "variance", "orientation"}
local APART = 0.05

local function losses_of(found, inside, into, back)
    local xyz = unproject(found.uvz)
    local noisy = xyz + eg.randn(xyz:shape()):to(run.device) * run.noise
    local away = in_other(found.uvz, into, back) - swapped(found.uvz):slice(2, 0, 2, 1)
    local between = xyz:unsqueeze(1) - xyz:unsqueeze(2)
    local nearer = (APART - (between * between):sum {axes = {3}}):relu():triu(1)
    local ends = eg.tensor({{{1, 0, 0}, {-1, 0, 0}}}, "f32"):to(run.device):expand {#xyz, 2, 3}
    return {
        consistency = (away * away):sum {axes = {2}}:mean() * 2,
        pose = angle(rotation(first(noisy), second(noisy)), turned(into, back)):mean(),
        separation = nearer:sum {axes = {1, 2}}:mean() * (2 / run.keypoints),
        silhouette = (found.maps:matmul(inside:flatten(1, 2):unsqueeze(2)) + 1e-12):log():mean() * -2,
        variance = found.variance:mean() * 2,
        orientation = ((found.axis - project(moved(ends, into))) ^ 2):mean() * 2,
    }
end

-- ---- learning -----------------------------------------------------------------------------------------
local adam = eg.optim.adam(net, {lr = run.lr})
adam:clip_norm(5)
run:module("net", net)
run:optim("adam", adam)
run.saver:dataset("train", train)
local step, per_epoch = run:resume_step(), train:count()
local steps = run.steps > 0 and run.steps or run.epochs * per_epoch
print(("%d steps of %d pairs of views, %d parameters"):format(steps, run.batch, net:numel()))

--- Degrees between true rotations and those found, the mean and the median, of cars that were not learned from.
local function examine()
    local angles, sum = {}, 0
    net:eval()
    for pictures, into, back in test do
        pictures, into, back = by_view(pictures):slice(1, 0, 3, 1), by_view(into), by_view(back)
        local xyz = unproject(find(pictures).uvz)
        local off = angle(rotation(first(xyz), second(xyz)), turned(into, back)):to "cpu"
        for _, radians in ipairs(off:table()) do
            angles[#angles + 1], sum = math.deg(radians), sum + math.deg(radians)
        end
    end
    net:train()
    table.sort(angles)
    return sum / #angles, angles[(#angles + 1) // 2]
end

while run:goes_on(step, steps) do
    for pictures, into, back in train do
        step = step + 1
        pictures, into, back = by_view(pictures), by_view(into), by_view(back)
        local inside, facing = pictures:select(1, 3):gt(0):cast "f32", into:select(1, 0):select(1, 0):gt(0):cast "f32"
        local losses
        local loss = adam:minimize(function()
            losses = losses_of(find(pictures:slice(1, 0, 3, 1), step <= run.told and facing or nil), inside, into, back)
            local sum = 0
            for _, name in ipairs(names) do
                sum = losses[name] * weights[name] + sum
            end
            return sum
        end)
        local row = {"loss", loss}
        for _, name in ipairs(names) do
            row[#row + 1], row[#row + 2] = name, losses[name]
        end
        run:note(step, table.unpack(row))
        if step == steps then
            break
        elseif step % per_epoch ~= 0 and run:checkpoint(step, step % (run.smoke and 5 or 200) == 0) then
            goto stopped -- the checkpoint of an epoch's last step comes after the test
        end
    end
    local mean, median = examine()
    run:note(step, "angle", mean, "median", median)
    print(("epoch %d: loss %.4f, rotations are off by %.2f degrees, median %.2f"):format(
        math.ceil(step / per_epoch), run:mean("loss", step - per_epoch + 1), mean, median))
    run.saver:save_best(step, -mean)
    run:checkpoint(step, true)
end
::stopped::

-- ---- what it found ------------------------------------------------------------------------------------
-- With the best weights there were: cars that were not learned from turn around, with their keypoints.
run:best("net", net)
print(("the best net's rotations are off by %.2f degrees, median %.2f"):format(examine()))
net:eval()
local cells, TURNS, LARGE = {}, 8, 128
for i = 0, math.min(3, run.others) - 1 do
    local parts = cars.car(run.cars + i)
    for k = 0, TURNS - 1 do
        local around = 2 * math.pi * k / TURNS
        local seen, shown = cars.view(parts, around, 0.35, run.side), cars.view(parts, around, 0.35, LARGE)
        local uvz = find(seen:slice(0, 0, 3, 1):unsqueeze(0):to(run.device)).uvz:to "cpu"
        local at = (uvz:slice(2, 0, 2, 1) * eg.tensor({1, -1}, "f32") + 1) * (LARGE / 2)
        cells[#cells + 1] = eg.draw_objects(eg.image_to_u8(shown:slice(0, 0, 3, 1)), nil, {keypoints = at})
    end
end
run:picture("turn.png", eg.show, cells, {columns = TURNS})
run:plot("loss.png", {"loss", table.unpack(names)}, "Losses")
run:plot("angle.png", {"angle", "median"}, "Degrees between rotations", {labels = {"mean", "median"}, xlabel = "epoch"})
print("model, pictures and curves are in " .. run.out)
run:check("loss", 0.98)
run:finish()
