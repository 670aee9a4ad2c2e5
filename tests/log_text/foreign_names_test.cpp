#include "log_text/foreign_names.h"

#include <gtest/gtest.h>

namespace aplomb::log_text {
namespace {

std::string english(std::string_view line) { return std::string(ForeignNames(line).english(line)); }

TEST(ForeignNames, NamesBeforeAValueAreEnglish) {
  EXPECT_EQ(english("schritt=204 epoche=3 ctc_loss=2.66 daten=0.483s rechnen=0.068s"),
            "step=204 epoch=3 ctc_loss=2.66 data_time=0.483s compute_time=0.068s");
  EXPECT_EQ(english("paso    12  época  1  pérdida 0.68713  auc 0.609"),
            "step    12  epoch  1  loss 0.68713  auc 0.609");
  EXPECT_EQ(english("Época: 2 | taxa de aprendizado: 0.001 | perda_val: 0.3"),
            "epoch: 2 | lr: 0.001 | loss_val: 0.3");
  EXPECT_EQ(english("шаг 40 потери 1.25 точность 0.5"), "step 40 loss 1.25 accuracy 0.5");
  EXPECT_EQ(english("エポック 3: 損失=0.42 正解率=0.9"), "epoch 3: loss=0.42 accuracy=0.9");
}

TEST(ForeignNames, WordsWithoutBlanksAreReadPartByPart) {
  EXPECT_EQ(english("轮次: 3 训练损失：0.31，验证损失：0.42"),
            "epoch: 3 train_loss:0.31,val_loss:0.42");
  EXPECT_EQ(english_name("val_verlust"), "val_loss");
  EXPECT_EQ(english_name("训练损失"), "train_loss");
  EXPECT_EQ(english_name("train/perte"), "train/loss");
  EXPECT_EQ(english_name("loss"), "loss");
}

TEST(ForeignNames, WidePunctuationBehindEnglishNames) {
  EXPECT_EQ(english("loss：0.31，acc：0.9"), "loss:0.31,acc:0.9");
}

TEST(ForeignNames, WordsOfASentenceStay) {
  for (const char* line :
       {"wir sehen einen Verlust von Daten", "el paso siguiente", "daten: 3 Dateien",
        "datos cargados: 21600", "数据集已加载", "loss 0.3 step 4"})
    EXPECT_EQ(english(line), line);
}

TEST(ForeignNames, ALogWithoutThemIsNotLookedAt) {
  ForeignNames none("step 1 loss 0.5\n");
  EXPECT_EQ(none.english("schritt=2 verlust=0.4"), "schritt=2 verlust=0.4");
}

TEST(ForeignNames, TheBookIsWhole) { EXPECT_EQ(mistakes_of_languages(), ""); }

}  // namespace
}  // namespace aplomb::log_text
