/* vit.c - transformers over patches of an image (Dosovitskiy et al. 2020), as torchvision has them. */
#include "nn/models/vision/parts.h"

static const struct {
    int64_t patch, layers, heads, width, hidden;
} nets[] = {
    [EG_VIT_B_16] = {16, 12, 12, 768, 3072},
    [EG_VIT_B_32] = {32, 12, 12, 768, 3072},
    [EG_VIT_L_16] = {16, 24, 16, 1024, 4096},
    [EG_VIT_L_32] = {32, 24, 16, 1024, 4096},
};

typedef struct vit {
    eg_module base;
    eg_module *patches, *positions, *encoder, *head;
    eg_tensor *token; /* [1, 1, width]: what the class is read from in the end */
} vit;

static eg_tensor *vit_forward(eg_module *m, eg_tensor *x)
{
    vit *v = (vit *)m;
    eg_tensor *rows = eg_permute(eg_flatten(eg_module_forward(v->patches, x), 2, -1), EG_AXES(0, 2, 1));
    if (!rows) {
        return NULL;
    }
    eg_tensor *token = eg_expand(v->token, EG_SHAPE(eg_size(rows, 0), 1, eg_size(rows, 2)));
    eg_tensor *all = eg_concat((eg_tensor *[]){token, rows}, 2, 1);
    eg_tensor *read = eg_module_forward(v->encoder, eg_module_forward(v->positions, all));
    return eg_module_forward(v->head, eg_select(read, 1, 0));
}

static void vit_members(eg_module *m, eg_members *members)
{
    vit *v = (vit *)m;
    eg_member_parameter(members, "class_token", &v->token);
    eg_member_child(members, "conv_proj", &v->patches);
    eg_member_child(members, "pos_embedding", &v->positions);
    eg_member_child(members, "encoder", &v->encoder);
    eg_member_child(members, "heads", &v->head);
}

static const eg_module_kind vit_kind = {
    .size = sizeof(eg_module_kind), .name = "vit", .forward = vit_forward, .members = vit_members};

static eg_module *encoder(eg_vit_size of, double dropout, double eps)
{
    eg__stack layers = {.count = 0};
    eg__stack_add(&layers, eg_dropout_new(dropout));
    for (int64_t i = 0; i < nets[of].layers; i++) {
        eg__stack_add_numbered(&layers, "encoder_layer_", (int)i,
                               eg_transformer_encoder_layer_new(nets[of].width, nets[of].heads, nets[of].hidden,
                                                                .dropout = dropout, .activation = eg_gelu,
                                                                .norm_first = true, .eps = eps));
    }
    eg__stack_add(&layers, eg_named("ln", eg_layer_norm_new(EG_SHAPE(nets[of].width), .eps = eps)));
    return eg__begin(eg__stack_end(&layers), EG_GLOROT_UNIFORM);
}

eg_module *eg_vit_new_with(eg_vit_size of, const eg_model_options *given)
{
    eg_model_options o;
    if ((int)of < EG_VIT_B_16 || of > EG_VIT_L_32) {
        eg_failf(EG_EINVAL, "vit", "there is no size %d", (int)of);
        return NULL;
    }
    if (!eg__model_options("vit", given, 1000, 3, EG__TAKES_SIDE | EG__TAKES_WHOLE, &o)) {
        return NULL;
    }
    int64_t width = nets[of].width, patch = nets[of].patch, side = (o.side ? o.side : 224) / patch;
    vit *v = eg_module_new(sizeof *v, &vit_kind);
    if (!v) {
        return NULL;
    }
    eg_model_options last = o;
    last.dropout = EG_ZERO;
    v->patches = eg_conv2d_new(o.channels, width, .kernel = patch, .stride = patch);
    v->positions = eg_learned_positions_new(side * side + 1, width);
    v->encoder = encoder(of, eg__or(o.dropout, 0), o.bn_eps != 0 ? o.bn_eps : 1e-6);
    v->head = eg__begin(eg__head_new("heads", width, o.classes, 0, &last), EG_CONSTANT);
    EG_SCOPE {
        v->token = eg_parameter(eg_zeros(EG_SHAPE(1, 1, width), EG_F32));
    }
    return eg_module_finish(&v->base);
}
