-- What those who come from PyTorch or Keras write: it works, or the error says what is written here.
local eg = require "egret"
local check = require "check"
local test, values, equal, fails, close = check.test, check.values, check.equal, check.fails, check.close

test("names of other libraries are answered with those here", function()
    local x, net = eg.ones {2, 3}, eg.nn.linear(3, 2)
    local adam = eg.optim.adam(net)
    for call, words in pairs {
        [function() return eg.cat {x, x} end] = "eg has no 'cat': use eg.concat({a, b}, 0)",
        [function() return eg.manual_seed(0) end] = "use eg.seed(1)",
        [function() return eg.no_grad() end] = "not needed: nothing is recorded while no tape is open",
        [function() return eg.nn.Linear(3, 2) end] = "eg.nn has no 'Linear': use eg.nn.linear",
        [function() return eg.nn.MaxPool2d(2) end] = "use eg.nn.max_pool2d",
        [function() return eg.nn.CrossEntropyLoss() end] = "use eg.cross_entropy(x, labels)",
        [function() return eg.nn.ReLU() end] = "use eg.nn.activation(eg.relu)",
        [function() return eg.nn.functional end] = "eg.relu(x)",
        [function() return eg.Dense end] = "use eg.nn.linear(784, 10)",
        [function() return eg.optim.SGD(net) end] = "eg.optim has no 'SGD': use eg.optim.sgd",
        [function() return eg.optim.AdamW(net) end] = "{decoupled = true}",
        [function() return eg.optim.lr_scheduler end] = "adam:follow",
        [function() return eg.data.DataLoader end] = ":batch(32)",
        [function() return eg.Tensor(2, 3) end] = "use eg.tensor",
        [function() return eg.float32 end] = 'use "f32"',
        [function() return eg.load "net.pt" end] = "net:load(path)",
        [function() return x:view(3, 2) end] = "a tensor has no 'view': use x:reshape(2, -1)",
        [function() return x:backward() end] = "eg.grad(f, x, y)",
        [function() return x:long() end] = 'use x:cast "i64"',
        [function() return x:t() end] = "use x.T",
        [function() return x:median() end] = "there is none; nearest: x:kthvalue(k, 0)",
        [function() return adam:zero_grad() end] = "an optimizer has no 'zero_grad': not needed",
        [function() return adam:step() end] = "optim:minimize(function() return loss end)",
        [function() return net:state_dict() end] = "a module has no 'state_dict': use net:state()",
        [function() return x:to "f16" end] = "'f16' is a dtype, not a device: use x:cast \"f16\"",
        [function() return x:to "float16" end] = 'use x:cast "f16"',
        [function() return net:to "cuda" end] = "'cuda' is a device, not a dtype: use net:to_device('cuda')",
        [function() return eg.zeros({2}, "float32") end] = '\'float32\' is none of f32, f64, f16, bf16, i64, i32, u8, bool: use "f32"',
    } do
        fails(call, "test_habits.lua:", words)
    end
    equal(eg.nothing_of_that_name, nil)
    equal(eg.nn.NothingOfThatName, nil)
    equal(net.nothing_of_that_name, nil)
    equal(adam.nothing_of_that_name, nil)
end)

test("modules written in Lua have fields of any name", function()
    local net = eg.module {forward = function(self, x) return self.view and x or self.weight or x * 2 end}
    values(net(eg.ones {2}), {2, 2})
    fails(function() net:zero_grad() end, "a module has no 'zero_grad'")
end)

test("arguments that are left out are PyTorch's", function()
    local x = eg.tensor({{1, 2, 3}, {6, 5, 4}}, "f32")
    values(x:sum(0), {7, 7, 7})
    values(x:sum(-1), {6, 15})
    equal(x:sum {0, 1}:item(), 21.0)
    values(x:argmax(1), {2, 0})
    values(x:std(0), x:std {axes = 0}:table())
    equal(x:norm(1):item(), 21.0)
    values(x:softmax(), x:softmax(-1):table())
    values(x:log_softmax(), x:log_softmax(1):table())
    values(x:flatten(), {1, 2, 3, 6, 5, 4})
    equal(eg.ones({2, 3, 4}):flatten(1):shape(), {2, 12})
    values((x:topk(1)), {{3}, {6}})
    values((x:sort()), {{1, 2, 3}, {4, 5, 6}})
    values(x:argsort(), {{0, 1, 2}, {2, 1, 0}})
    equal(eg.concat({x, x}):shape(), {4, 3})
    equal(eg.stack({x, x}):shape(), {2, 2, 3})
    equal(#x:chunk(2), 2)
    equal(#x:unbind(), 2)
    values(x:tril(), {{1, 0, 0}, {6, 5, 0}})
    values(eg.eye(2), {{1, 0}, {0, 1}})
    values(eg.arange(3), {0, 1, 2})
    values(eg.arange(1, 4), {1, 2, 3})
    values(x:clamp(3), {{3, 3, 3}, {6, 5, 4}})
    values(x:clamp(nil, 3), {{1, 2, 3}, {3, 3, 3}})
    values(x:cast "i64":clamp(3), {{3, 3, 3}, {6, 5, 4}})
    close(eg.tensor({-1.0}):leaky_relu():item(), -0.01, 1e-7)
    close(eg.tensor({-1.0}):elu():item(), math.exp(-1) - 1, 1e-6)
    equal(x:size(), {2, 3})
    equal(x:size(-1), 3)
    equal(tostring(eg.nn.conv2d(1, 2, 3)), "conv2d")
    equal(eg.nn.max_pool2d(2)(eg.ones {1, 1, 4, 4}):shape(), {1, 1, 2, 2})
    eg.nn.dropout()
    fails(function() x:dropout() end, "training, true or false, must be said")
    fails(function() eg.nn.linear(3, 2, false) end, "a table of options is expected, such as {no_bias = ...}, got boolean")
end)

test("options are refused with those there are", function()
    local x, labels = eg.ones {2, 3}, eg.zeros({2}, "i64")
    fails(function() eg.cross_entropy(x, labels, {reductoin = "sum"}) end,
          "cross_entropy: there is no option 'reductoin'; did you mean 'reduction'? The options are reduction, label_smoothing")
    fails(function() eg.mse_loss(x, x, {label_smoothing = 0.1}) end, "no option 'label_smoothing'")
    fails(function() eg.mse_loss(x, x, {delta = 2}) end, "has no option delta; its options are reduction, weight")
    fails(function() eg.nn.linear(3, 2, {bias = false}) end, "did you mean 'no_bias'?")
    fails(function() x:sum {dim = 0} end, "did you mean 'axes'?")
    fails(function() eg.optim.adam(eg.nn.linear(3, 2), {learning_rate = 1}) end, "did you mean 'lr'?")
    fails(function() eg.plot({1, 2}, {titel = "a"}) end, "no option 'titel'; did you mean 'title'?")
    -- Options that would say nothing without another one bring it along.
    equal(eg.cross_entropy(x, labels, {ignore_index = 0}):item(), 0.0)
    equal(eg.max(eg.zeros {0}, {initial = 3}):item(), 3.0)
end)

test("optimizers refuse tensors without gradients", function()
    local w = eg.ones {2, 3}
    local plain = eg.optim.sgd({w}, {lr = 1})
    fails(function() plain:minimize(function() return w:sum() end) end, "does not require gradients", "x:requires_grad()")
    plain:step {eg.ones {2, 3}}
    equal(w:sum():item(), 0.0)
    eg.optim.sgd({w:requires_grad()}, {lr = 1})
    fails(function() eg.optim.adam(eg.nn.linear(3, 2):freeze()) end, "eg_adam")
end)

test("modules written in Lua see in which mode they are", function()
    local seen = {}
    local inner = eg.module {forward = function(self, x)
        seen[#seen + 1] = self.training
        return x
    end}
    local net = eg.nn.sequential {inner, eg.nn.flatten()}
    net(eg.ones {1, 2})
    net:eval()
    net(eg.ones {1, 2})
    equal(net.training, false)
    net:train()
    net(eg.ones {1, 2})
    equal(seen, {true, false, true})
    equal(net.training, true)
    fails(function() inner.training = false end, "net:train() and net:eval()")
    fails(function() eg.module {training = true, forward = function(_, x) return x end} end, "net:train() and net:eval()")
end)

check.done()
