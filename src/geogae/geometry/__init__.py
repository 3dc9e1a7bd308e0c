"""Graph ↔ cloud, without learned weights: labelling, fitting, pose, order, the intersection rule."""
