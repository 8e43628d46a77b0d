import matplotlib.pyplot as plt
import pandas as pd


def load(path):
    df = pd.read_csv(path)
    plt.plot(df.iloc[:, 0])
    return df
