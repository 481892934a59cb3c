"""TensorFlow's side of `compare.py recipes`: tf.data with slim's and tf_cnn_benchmarks' steps.

    python3 tf_recipes.py FOLDER THREADS RECIPE"""
import glob
import json
import os
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf  # noqa: E402

SIDE, BATCH = 224, 32
v1 = tf.compat.v1.image
ORDERS = {"fast": ("bs", "sb", "sb", "sb"), "slow": ("bshc", "sbch", "chbs", "hscb"), "benchmarks": ("bshc", "bcsh")}


def colours(image, orders):
    change = {"b": lambda x: tf.image.random_brightness(x, 32 / 255), "s": lambda x: tf.image.random_saturation(x, .5, 1.5),
              "h": lambda x: tf.image.random_hue(x, .2), "c": lambda x: tf.image.random_contrast(x, .5, 1.5)}

    def by(order):
        def run():
            x = image
            for k in order:
                x = change[k](x)
            return x
        return run
    which = tf.random.uniform([], 0, len(orders), tf.int32)
    return tf.clip_by_value(tf.switch_case(which, [by(order) for order in orders]), 0., 1.)


def distorted_box(shape):
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        shape, tf.zeros([1, 0, 4]), min_object_covered=.1, aspect_ratio_range=(.75, 1.33), area_range=(.05, 1.),
        max_attempts=100, use_image_if_no_bounding_boxes=True)
    return begin, size


def resized(x, height, width, how="bilinear"):
    return getattr(v1, "resize_nearest_neighbor" if how == "nearest" else "resize_" + how)(x[None], [height, width])[0]


def inception(data, slow=False):
    image = tf.image.convert_image_dtype(tf.io.decode_jpeg(data, 3), tf.float32)
    begin, size = distorted_box(tf.shape(image))
    image = tf.slice(image, begin, size)
    if slow:
        which = tf.random.uniform([], 0, 4, tf.int32)
        image = tf.switch_case(which, [lambda how=how: resized(image, SIDE, SIDE, how)
                                       for how in ("bilinear", "nearest", "bicubic", "area")])
    else:
        image = resized(image, SIDE, SIDE)
    image = tf.image.random_flip_left_right(tf.ensure_shape(image, (SIDE, SIDE, 3)))
    return (colours(image, ORDERS["slow" if slow else "fast"]) - .5) * 2


def vgg(data):
    image = tf.io.decode_jpeg(data, 3)
    side = tf.random.uniform([], 256, 513, tf.int32)
    shape = tf.cast(tf.shape(image)[:2], tf.float32)
    shape = tf.cast(tf.math.rint(shape * tf.cast(side, tf.float32) / tf.reduce_min(shape)), tf.int32)
    image = tf.image.random_crop(resized(image, shape[0], shape[1]), [SIDE, SIDE, 3])
    return tf.image.random_flip_left_right(image) - [123.68, 116.78, 103.94]


def cnn_benchmarks(data):
    begin, size = distorted_box(tf.io.extract_jpeg_shape(data))
    window = tf.concat([begin[:2], size[:2]], 0)
    image = tf.image.random_flip_left_right(tf.io.decode_and_crop_jpeg(data, window, 3))
    image = tf.ensure_shape(resized(image, SIDE, SIDE), (SIDE, SIDE, 3)) / 255
    return colours(image, ORDERS["benchmarks"]) * 255 / 127.5 - 1


def main():
    folder, threads, recipe = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    prepare = {"inception": inception, "inception+": lambda data: inception(data, True), "vgg": vgg,
               "cnn_benchmarks": cnn_benchmarks}[recipe]
    classes = sorted(os.listdir(folder))
    files = [(path, k) for k, name in enumerate(classes) for path in sorted(glob.glob(f"{folder}/{name}/*"))]
    data = tf.data.Dataset.from_tensor_slices(([path for path, _ in files], [k for _, k in files]))
    data = data.shuffle(len(files)).map(lambda path, label: (prepare(tf.io.read_file(path)), label),
                                        num_parallel_calls=threads).batch(BATCH).prefetch(2)
    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    data = data.with_options(options)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "about":
            answer = {"library": f"TensorFlow {tf.__version__}"}
        else:
            start, images = time.perf_counter(), 0
            while not images or (time.perf_counter() - start) * 1e6 < float(words[1]):
                for batch, _ in data:
                    images += batch.shape[0]
            answer = {"samples": images, "seconds": time.perf_counter() - start}
        print(json.dumps(answer), flush=True)


main()
