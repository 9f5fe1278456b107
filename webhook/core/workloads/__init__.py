"""Recognise the pods of training systems."""

from webhook.core.workloads.systems import recognise
from webhook.core.workloads.training_pod import NotTraining, Rendezvous, TrainingPod

__all__ = ["NotTraining", "Rendezvous", "TrainingPod", "recognise"]
