"""A trainer that takes no time."""

from openrebench.environments.scaling_law.training_process import Job


class Instant:
    """Gives a loss, or an error, without training."""

    def __init__(self, loss: float | Exception = 5.0) -> None:
        self.loss = loss
        self.asked: list[Job] = []

    def train(self, job: Job) -> float:
        self.asked.append(job)
        if isinstance(self.loss, Exception):
            raise self.loss
        return self.loss

    def close(self) -> None:
        pass
