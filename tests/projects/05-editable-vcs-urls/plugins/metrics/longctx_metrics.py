from torchmetrics import MeanMetric

loss = MeanMetric()
