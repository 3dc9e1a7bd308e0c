"""The learned part: ordered balls to z and back."""

from geogae.model.autoencoder import Passes, SequentialAutoencoder
from geogae.model.decoder import Decoded

__all__ = ["Decoded", "Passes", "SequentialAutoencoder"]
