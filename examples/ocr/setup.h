/* setup.h - what a trained net is, in files beside its weights: its sizes and its letters. */
#ifndef EXAMPLES_OCR_SETUP_H
#define EXAMPLES_OCR_SETUP_H

#include <egret/run.h>

#include "charset.h"
#include "net.h"

/* As net.json and letters.txt in the run's folder, and back from there; EG_EIO if no net was trained there. */
eg_status setup_save(eg_run *run, const ocr_sizes *sizes, const charset *letters);
eg_status setup_load(eg_run *run, ocr_sizes *sizes, charset *letters);

#endif
