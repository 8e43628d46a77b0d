import gymnasium as gym
from stable_baselines3 import PPO


def train():
    PPO("MlpPolicy", gym.make("CartPole-v1"), device="cuda").learn(1000)
