"""An honest benchmark: every method and data set on the same splits, by the same metrics, beside floors and the paper.

One run, from plan to table: ``plan`` says what is to be run, ``folds`` gives its graphs, ``methods`` fits and decodes,
``runner`` measures and writes one JSON file, ``results`` reads them back, ``summary`` joins the seeds, ``tables`` and
``figures`` show them beside the numbers of ``paper``, and ``blocks`` puts tables into pages.
"""
