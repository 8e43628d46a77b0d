import sys

import torchaudio
import whisper
from faster_whisper import WhisperModel


def main(path):
    if "--fast" in sys.argv:
        segments, _ = WhisperModel("./model", device="cuda", compute_type="float16").transcribe(path)
        return " ".join(s.text for s in segments)
    wave, _ = torchaudio.load(path)
    return whisper.load_model("./model.pt", device="cuda").transcribe(wave[0].numpy())["text"]


if __name__ == "__main__":
    print(main(sys.argv[1]))
