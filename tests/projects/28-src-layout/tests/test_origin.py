from trajnet import ORIGIN


def test_origin():
    assert ORIGIN.shape == (2,)
