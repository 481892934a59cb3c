"""Golden cases of sounds that TensorFlow computes: its mel filters, and the kernels AudioSpectrogram and Mfcc.

    python3 cepstra.py [--out DIR]      writes cepstra.safetensors; needs TensorFlow on the CPU and nothing else

Tables are a hundred times what they are, so that a tolerance that is relative to 1 says something of them."""
import argparse
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from pictures import Recorder  # noqa: E402


def signal(g, samples):
    """A tone that rises and noise."""
    t = np.arange(samples) / 16000
    return (.4 * np.sin(2 * np.pi * (200 + 3000 * t) * t) + .05 * g.standard_normal(samples)).astype("float32")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=here, help="folder to write to (default: beside this file)")
    folder = parser.parse_args().out
    r, g = Recorder(), np.random.default_rng(5)
    for n_fft, rate, bands, low, high in ((256, 16000, 40, 20., 4000.), (128, 22050, 20, 80., 7600.)):
        y = tf.signal.linear_to_mel_weight_matrix(bands, n_fft // 2 + 1, rate, low, high, tf.float64)
        r.add("mel_filters", (100 * y.numpy()).astype("float32"), n_fft=n_fft, rate=rate, bands=bands, low=low, high=high,
              scale="tensorflow")
    for frame, hop, bands, coefficients, low, high in ((480, 160, 40, 40, 20., 4000.), (400, 200, 23, 13, 100., 7000.)):
        x = signal(g, 1000)
        power = tf.raw_ops.AudioSpectrogram(input=x[:, None], window_size=frame, stride=hop, magnitude_squared=True)
        y = tf.raw_ops.Mfcc(spectrogram=power, sample_rate=16000, upper_frequency_limit=high, lower_frequency_limit=low,
                            filterbank_channel_count=bands, dct_coefficient_count=coefficients)
        r.add("spectra", power.numpy()[0], x, frame=frame, hop=hop)
        r.add("cepstra", y.numpy()[0], x, frame=frame, hop=hop, bands=bands, coefficients=coefficients, low=low, high=high)
    r.write(os.path.join(folder, "cepstra.safetensors"))


if __name__ == "__main__":
    main()
