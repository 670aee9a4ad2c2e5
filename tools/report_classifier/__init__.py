"""Training of the classifier of reports: what is learnt from (reports), the directions of words (vectors), the fit
(softmax) and the files of the model (files). tools/train_report_classifier.py is the way in."""
